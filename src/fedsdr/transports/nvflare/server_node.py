"""The program of the coordinator's node: NVFLARE's, with a list of certificates.

Started as ``python -m``. NVFLARE lets in whoever has a certificate of the authority,
for as long as that is valid; this node also asks whether it was revoked or replaced,
lets no second node of a site in, and notices within seconds who has left.
"""

import sys
from pathlib import Path
from typing import Any

from nvflare.fuel.f3.cellnet.defs import IdentityChallengeKey
from nvflare.fuel.f3.mpm import MainProcessMonitor
from nvflare.private.defs import CellMessageHeaderKeys, ClientType
from nvflare.private.fed.app.server.server_train import (
    main,
    parse_arguments,
    version_check,
)
from nvflare.private.fed.server.client_manager import ClientManager
from nvflare.private.fed.utils.identity_utils import load_crt_chain_bytes

from fedsdr.transports.nvflare.admission import is_admitted
from fedsdr.transports.nvflare.pauses import wake_job_runner
from fedsdr.transports.nvflare.presence import call_the_roll, let_nobody_in_twice


def watch_the_door(server: Path) -> None:
    """Let only certificates in that are on the list.

    Parameters
    ----------
    server : Path
        Kit of the coordinator's node.
    """
    let_in = ClientManager.authenticated_client

    def authenticated_client(
        self: Any, request: Any, fl_ctx: Any, client_type: Any
    ) -> Any:
        if client_type == ClientType.ADMIN:
            # People, who have kits of the coordinator's own.
            return let_in(self, request, fl_ctx, client_type)
        name = request.get_header(CellMessageHeaderKeys.CLIENT_NAME)
        try:
            shown = request.payload.get(IdentityChallengeKey.CERT)
            certificate = load_crt_chain_bytes(shown)[0]
        except (AttributeError, TypeError, ValueError, IndexError):
            return None
        if not is_admitted(server, str(name), certificate):
            self.logger.warning(f"the certificate of {name!r} is not, or no longer, in")
            return None
        return let_in(self, request, fl_ctx, client_type)

    ClientManager.authenticated_client = authenticated_client


if __name__ == "__main__":
    version_check()
    arguments = parse_arguments()
    folder = Path(arguments.workspace)
    watch_the_door(folder)
    let_nobody_in_twice()
    call_the_roll(folder)
    wake_job_runner()
    sys.exit(
        MainProcessMonitor.run(
            main_func=main, run_dir=arguments.workspace, args=arguments
        )
    )
