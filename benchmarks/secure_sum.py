"""Compare the cost of masking with the cost of the masked summaries, in one run.

Run with ``make bench-secure-sum`` or ``python -m benchmarks.secure_sum``.
"""

import argparse
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.ledger import Ledger, Row
from fedsdr.method import read_parameter
from fedsdr.questions import MomentsOf
from fedsdr.rows import MemoryRows
from fedsdr.secure_sum import Agreement, Context, Identity, MaskedSum, SumSite
from fedsdr.secure_sum.bindings import shown_keys
from fedsdr.secure_sum.parcels import PostOffice
from fedsdr.terms import Terms

RESULTS = Path(__file__).parent / "results"
N_SITES, N_ROWS, N_FEATURES = 10, 20_000, 1000
TARGET = 0.15
REPEATS = 5


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    ledger = Ledger(
        RESULTS / "secure_sum.csv",
        fresh=parser.parse_args().fresh,
        key=("kernel",),
        source="src/fedsdr/secure_sum",
    )
    with threadpool_limits(limits=1):
        for kernel in ("slices", "smooth"):
            ledger.measure({"kernel": kernel}, lambda kernel=kernel: measure(kernel))
    print(write_table(ledger, RESULTS / "secure_sum.md"))


def measure(kernel: str) -> Row:
    """Time summaries and secure sums of all sites, one site after the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    y = X[:, 0] + rng.normal(size=N_ROWS)
    rows = MemoryRows(X, y, rng)
    question = MomentsOf(Terms(N_FEATURES, read_parameter("kernel", kernel)))
    names = [f"site-{i}" for i in range(N_SITES)]
    summaries, masking = [], []
    for _ in range(REPEATS):
        start = process_time()
        for _ in names:
            values = question.pack(question.compute(rows))
        summaries.append(process_time() - start)
        start = process_time()
        total = add(names, values)
        masking.append(process_time() - start)
    error = np.abs(total - N_SITES * values).max() / np.abs(total).max()
    return {
        "n_values": values.size,
        "summaries_seconds": median(summaries),
        "masking_seconds": median(masking),
        "ratio": median(masking) / median(summaries),
        "relative_error": float(error),
    }


def add(names: list[str], values: np.ndarray) -> np.ndarray:
    """Run one secure sum in which all sites have the same values."""
    identities = {name: Identity.generate() for name in names}
    roster = {name: identity.public for name, identity in identities.items()}
    agreement = Agreement("00" * 32, roster, N_SITES // 2 + 1)
    context = Context(agreement.study, "1", b"")
    sites = {
        name: SumSite(name, identities[name], agreement, context) for name in names
    }
    keys = {name: site.keys() for name, site in sites.items()}
    for name, public in keys.items():
        public.check(name)
    boxes = {name: site.share(keys) for name, site in sites.items()}
    office = PostOffice(agreement, context, keys, shown_keys(keys))
    assert not office.check_public(boxes)
    masked = {}
    for name, site in sites.items():
        sent = {peer: boxes[peer][name] for peer in names if peer != name}
        assert not site.verify(sent)
        site.receive(sent)
        masked[name] = site.mask(values)
    signatures = {name: site.confirm(names) for name, site in sites.items()}
    shown = {name: site.unmask(signatures) for name, site in sites.items()}
    shares = {}
    for holder, given in shown.items():
        for dealer, opened in given.items():
            assert office.is_share(dealer, holder, boxes[dealer][holder], 0, opened)
        shares[holder] = {dealer: opened[:32] for dealer, opened in given.items()}
    return MaskedSum(agreement, context, keys, tuple(names), masked).open(shares)


def write_table(ledger: Ledger, path: Path) -> str:
    """Write the measurements, and return the text."""
    row = ledger.rows[0]
    lines = [
        "# Cost of masking",
        "",
        f"`python -m benchmarks.secure_sum`, commit {row['commit']}, {row['date']}.",
        f"{N_SITES} sites of {N_ROWS} rows and {N_FEATURES} columns, one thread:",
        "seconds of a core for all sites' summaries, for everything in their secure",
        "sum (keys, shares, masks, signatures, opening), and the ratio, which must",
        f"stay below {TARGET}. Medians of {REPEATS} runs, taken in turn.",
        "",
        "| kernel | numbers | summaries | secure sum | ratio | relative error |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    names = ("kernel", "n_values", "summaries_seconds", "masking_seconds", "ratio")
    lines += [
        f"| {' | '.join(str(row[name]) for name in (*names, 'relative_error'))} |"
        for row in ledger.rows
    ]
    text = "\n".join([*lines, ""])
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
