"""The page of a board: HTML without anything from outside."""

from fedsdr.html_text import Html, join, tag, write_table
from fedsdr.page_style import STYLE
from fedsdr.watching.board import FAILED, FINISHED, RUNNING, Board, Panel

#: Seconds between two looks of a browser, with and without script.
LOOK, RELOAD = 1, 5

_MORE = """
.state { display: inline-block; padding: 0 0.6rem; border-radius: 0.8rem;
         border: 2px solid var(--aside); font-weight: 600; }
.state.running { border-color: var(--found); }
.state.finished { border-color: var(--good); }
.state.failed { border-color: var(--limit); }
#headline { font-size: 1.1rem; margin: 0.6rem 0; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem;
     margin: 0.6rem 0; }
dt { color: var(--quiet); }
dd { margin: 0; }
/* The heading above says the same; a screen reader names the table by it. */
caption { position: absolute; width: 1px; height: 1px; overflow: hidden;
          clip-path: inset(50%); }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.4rem; }
}
"""

#: Parts are replaced only where they have changed, so that a reader's place is kept.
_SCRIPT = """
"use strict";
const known = {};
let silent = 0;
function put(name, html) {
  const part = document.getElementById(name);
  if (!part || known[name] === html) return;
  known[name] = html;
  const inside = part.contains(document.activeElement);
  const moved = part.querySelector(".wide")?.scrollLeft ?? 0;
  part.innerHTML = html;
  const box = part.querySelector(".wide");
  if (box) box.scrollLeft = moved;
  if (inside) part.querySelector("[tabindex], a")?.focus({preventScroll: true});
}
async function look() {
  try {
    const answer = await fetch("state", {cache: "no-store"});
    if (!answer.ok) throw new Error();
    const found = await answer.json();
    silent = 0;
    document.title = found.page_title;
    for (const [name, html] of Object.entries(found.parts)) put(name, html);
  } catch {
    silent += 1;
    if (silent === 3) put("headline", "This page is no longer updated: " +
      "the command that made it has ended.");
  }
  if (silent < 3) setTimeout(look, LOOK);
}
setTimeout(look, LOOK);
""".replace("LOOK", str(1000 * LOOK))


def write_page(board: Board, nonce: str) -> str:
    """Write the page.

    Parameters
    ----------
    board : Board
        What it shows.
    nonce : str
        Word by which the page's own script and style are known to the browser.

    Returns
    -------
    str
        HTML. It follows the study by its script, or loads itself again where scripts
        are switched off.
    """
    parts = write_parts(board)
    sections = [tag("section", parts[one.name], id=one.name) for one in board.panels]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", page_title(board)),
        tag("link", rel="icon", href="data:,"),
        tag("style", Html(STYLE + _MORE), nonce=nonce),
        tag("noscript", tag("meta", http_equiv="refresh", content=str(RELOAD))),
    )
    body = tag(
        "body",
        tag(
            "main",
            tag("h1", board.title),
            tag("div", parts["state"], id="state"),
            tag(
                "p", parts["headline"], id="headline", role="status", aria_live="polite"
            ),
            tag("div", parts["facts"], id="facts"),
            *sections,
        ),
        tag(
            "footer",
            tag(
                "p",
                "This page is read-only, comes from this machine and loads nothing "
                "from anywhere else. It holds no rows and no values of rows.",
                class_="quiet",
            ),
        ),
        tag("script", Html(_SCRIPT), nonce=nonce),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def write_parts(board: Board) -> dict[str, Html]:
    """Write what may change, by the names of its places in the page.

    Parameters
    ----------
    board : Board
        What the page shows.

    Returns
    -------
    dict of str to Html
        Content of each place.
    """
    kind = board.state if board.state in (RUNNING, FINISHED, FAILED) else "waits"
    facts = [join((tag("dt", name), tag("dd", value))) for name, value in board.facts]
    return {
        "state": tag("span", board.state, class_=f"state {kind}"),
        "headline": join((board.headline,)),
        "facts": tag("dl", *facts) if facts else Html(""),
        **{panel.name: _write_panel(panel, board) for panel in board.panels},
    }


def page_title(board: Board) -> str:
    """Write the title, which a browser shows on its tab.

    Parameters
    ----------
    board : Board
        What the page shows.

    Returns
    -------
    str
        State and title.
    """
    return f"{board.state}: {board.title}"


def _write_panel(panel: Panel, board: Board) -> Html:
    parts = [tag("h2", panel.heading)]
    if panel.rows:
        parts.append(
            write_table(panel.heading, panel.head, panel.rows, numbers=panel.numbers)
        )
    if not panel.rows and panel.empty:
        parts.append(tag("p", panel.empty, class_="quiet"))
    if panel.name == "result" and panel.rows:
        note = "Loadings per standard deviation of each variable."
        parts.append(tag("p", note, class_="quiet"))
    if panel.name == "result" and board.report:
        link = tag("a", "Read the report of this result", href="report")
        parts.append(tag("p", link))
    return join(parts)
