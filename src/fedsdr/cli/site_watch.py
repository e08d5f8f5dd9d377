"""``fedsdr site watch``: a page on this machine that shows what leaves a site."""

from fedsdr.cli.nodes import SiteArgument
from fedsdr.cli.screen import Screen
from fedsdr.cli.watch_loop import (
    BrowserOption,
    PortOption,
    StayOption,
    serve_until_over,
)
from fedsdr.extras import require


def watch_site(
    *,
    file: SiteArgument,
    port: PortOption = 0,
    browser: BrowserOption = True,
    stay: StayOption = 600.0,
) -> None:
    """Show on a page of this machine what leaves the site, and the result.

    Reads the ledger and the result, neither rows nor keys, and changes nothing. The
    page answers only this machine, and only who has its address.
    """
    screen = Screen()
    with screen.polite():
        require("secure", "a study")
        from fedsdr.study import read_site
        from fedsdr.watching.site_board import SiteWatch

        watch = SiteWatch(read_site(file))
        try:
            serve_until_over(
                screen,
                watch.board,
                watch.result,
                port,
                browser=browser,
                stay=stay,
            )
        except KeyboardInterrupt:
            screen.say("The page is gone. The site goes on as it was.")
