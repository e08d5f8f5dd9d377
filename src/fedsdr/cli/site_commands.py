"""``fedsdr site``: the commands for the steward of a site."""

import typer

from fedsdr.cli.certificate_request import request
from fedsdr.cli.ledger_copies import backup, restore
from fedsdr.cli.log_bundles import site_logs
from fedsdr.cli.site_accept import accept
from fedsdr.cli.site_agreement_command import agreement
from fedsdr.cli.site_check import check
from fedsdr.cli.site_doctor import doctor
from fedsdr.cli.site_init import init
from fedsdr.cli.site_join import join
from fedsdr.cli.site_ledger import ledger_app, void
from fedsdr.cli.site_peers import peers_app
from fedsdr.cli.site_watch import watch_site

app = typer.Typer(no_args_is_help=True)


@app.callback()
def site() -> None:
    """Prepare and run one site of a study."""


app.command()(init)
app.command()(check)
app.command()(doctor)
app.command("logs")(site_logs)
app.command()(request)
app.command()(join)
app.command()(accept)
app.command()(agreement)
app.command()(void)
app.command("watch")(watch_site)
ledger_app.command()(backup)
ledger_app.command()(restore)
app.add_typer(peers_app, name="peers")
app.add_typer(ledger_app, name="ledger")
