"""A process of a job ends with the node that has started it."""

import os
import threading
import time

# Seconds between two looks.
LOOK = 0.5


def end_with_parent(parent: int) -> None:
    """End this process at once when its parent has ended, be it killed or not.

    NVFLARE's processes go on for minutes, and answer for a site whose node has left.

    Parameters
    ----------
    parent : int
        Its number. The parent may have ended already.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
