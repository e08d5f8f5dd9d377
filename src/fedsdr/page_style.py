"""How pages look: light and dark, on a screen, a phone and paper."""

#: Colours of pictures in the page, so that they follow light and dark.
PAINTS = {
    "#333333": "var(--ink)",
    "#999999": "var(--aside)",
    "#b0b0b0": "var(--grid)",
    "#0072b2": "var(--found)",
    "#d55e00": "var(--limit)",
    "#ffffff": "var(--page)",
    "#000000": "var(--ink)",
}

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --soft: #f3f5f7; --ink: #222222; --quiet: #545b62;
  --line: #d5dadf; --grid: #b0b0b0; --aside: #8a8f94;
  --found: #0072b2; --limit: #c75300; --good: #1b6e45; --link: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16191d; --soft: #20252b; --ink: #e8eaed; --quiet: #b3bac2;
    --line: #3a4149; --grid: #6b7279; --aside: #8f979f;
    --found: #56b4e9; --limit: #f0913d; --good: #6fcf9f; --link: #8ab8f5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 62rem; padding: 1rem 1.25rem 3rem;
  background: var(--page); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: anywhere;
}
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0.6rem 0 0.2rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 0.5rem; padding-top: 0.6rem;
     border-top: 1px solid var(--line); }
h3 { font-size: 1.02rem; margin: 1.3rem 0 0.3rem; }
p, li { max-width: 46rem; }
a { color: var(--link); }
.quiet, figcaption, caption { color: var(--quiet); font-size: 0.9rem; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
:focus-visible { outline: 3px solid var(--found); outline-offset: 2px; }
nav ul { list-style: none; padding: 0; margin: 0.6rem 0;
         display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; }
.short { background: var(--soft); border-left: 4px solid var(--found);
         padding: 0.3rem 1rem 0.6rem; margin: 1rem 0; }
.short.doubt { border-left-color: var(--limit); }
.good, .bad { font-weight: 600; white-space: nowrap; }
.good { color: var(--good); }
.bad { color: var(--limit); }
.wide { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-size: 0.93rem; }
caption { text-align: left; padding-bottom: 0.35rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.9rem 0.3rem 0;
         border-bottom: 1px solid var(--line); overflow-wrap: break-word;
         max-width: 26rem; }
tbody th { font-weight: 600; max-width: 16rem; }
.text tbody th { font-weight: 400; max-width: 24rem; }
.number { text-align: right; font-variant-numeric: tabular-nums;
          white-space: nowrap; }
figure { margin: 1rem 0; }
.pair { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; align-items: flex-start; }
.pair > figure { flex: 1 1 20rem; max-width: 27rem; }
.pair > .wide { flex: 0 1 auto; max-width: 100%; }
.panels { display: flex; flex-wrap: wrap; gap: 0.6rem; }
.panels svg { width: 100%; max-width: 27rem; height: auto; }
svg text { fill: var(--ink); font-family: system-ui, sans-serif; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
code { font-family: ui-monospace, Consolas, monospace; font-size: 0.88em; }
@media (max-width: 40rem) {
  body { padding: 0.6rem 0.9rem 2rem; }
  h1 { font-size: 1.4rem; }
  .text { table-layout: fixed; width: 100%; font-size: 0.86rem; }
  .text thead th:nth-child(2) { width: 5.2rem; }
}
@media print {
  :root { --page: #fff; --soft: #f4f4f4; --ink: #000; --quiet: #333; --line: #bbb;
          --found: #0072b2; --limit: #a84600; --good: #1b6e45; --grid: #b0b0b0; }
  body { max-width: none; font-size: 10.5pt; padding: 0; }
  nav, .skip { display: none; }
  figure, tr, .short { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  .wide { overflow: visible; }
}
"""
