"""Compare rounds, bytes, objective and support of the protocols on the same data.

Run with ``make bench-protocols`` or ``python -m benchmarks.protocols``.
"""

import argparse
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.ledger import Ledger, Row
from fedsdr.estimators.masked_sites import join_under_masks
from fedsdr.metrics import subspace_distance, support_rates
from fedsdr.peers.paper import PaperCoordinator, PaperSite
from fedsdr.questions import MomentsOf
from fedsdr.rows import Communication, OwnSites, split_sites
from fedsdr.simulate import Simulation, make_setting
from fedsdr.solver import Problem, solve
from fedsdr.summaries import Summary, summarize
from fedsdr.summaries.slicing import Slices
from fedsdr.terms import Terms, Variables
from fedsdr.transports import InProcess

RESULTS = Path(__file__).parent / "results"
# Tolerances of the paper's protocol, by setting; setting 3 is slow at the smallest.
TOLERANCES = {1: (1e-3, 1e-4, 1e-6), 3: (1e-3, 1e-4)}
N_FEATURES, N_PER_SITE, PENALTY = 150, 100, 0.05
HEADER = (
    "| setting | protocol | tol | rounds | MB per site | objective | rows of Pi "
    "| TPR | FPR | FPR rounded | Dist | seconds |"
)


def main() -> None:
    """Measure what is not in the results yet, then print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="repeat all measurements")
    options = parser.parse_args()
    ledger = Ledger(
        RESULTS / "protocols.csv",
        fresh=options.fresh,
        key=("setting", "protocol", "tol"),
        source="src/fedsdr",
    )
    with threadpool_limits(limits=1):
        for setting, tolerances in TOLERANCES.items():
            data = make_setting(
                setting, n_per_site=N_PER_SITE, n_features=N_FEATURES, random_state=0
            )
            cases = [("sums", 1e-6), ("secure", 1e-6)]
            for protocol, tol in [*cases, *(("paper", tol) for tol in tolerances)]:
                ledger.measure(
                    {"setting": setting, "protocol": protocol, "tol": tol},
                    lambda data=data, protocol=protocol, tol=tol: run(
                        data, protocol, tol
                    ),
                )
    print(write_table(ledger, RESULTS / "protocols.md"))


def run(data: Simulation, protocol: str, tol: float) -> Row:
    """Fit with one protocol and return its cost and its result."""
    start = process_time()
    if protocol == "paper":
        pi, spent = run_paper(data, tol)
    else:
        pi, spent = run_sums(data, protocol)
    seconds = process_time() - start
    total = pooled(data)
    problem = Problem.checked(total.sigma, total.kernel, data.n_directions, PENALTY)
    values, vectors = np.linalg.eigh(pi)
    basis = vectors[:, ::-1][:, : data.n_directions]
    # Make Pi positive semi-definite and feasible, so that objectives can be compared.
    positive = (vectors * np.clip(values, 0.0, None)) @ vectors.T
    support = pi.any(axis=1)
    rounded = np.round(basis, 2).any(axis=1)
    return {
        "rounds": spent.rounds,
        "megabytes": max(spent.n_bytes.values()) / 1e6,
        "objective": f"{problem.objective(problem.make_feasible(positive)):.6f}",
        "nonzero": int(support.sum()),
        "tpr": support_rates(support, data.support).tpr,
        "fpr": support_rates(support, data.support).fpr,
        "fpr_rounded": support_rates(rounded, data.support).fpr,
        "dist": subspace_distance(basis, data.B),
        "seconds": seconds,
    }


def run_sums(data: Simulation, protocol: str) -> tuple[np.ndarray, Communication]:
    """Add sums, with or without masks, and solve once."""
    parts = split_sites(data.X, data.y, data.sites, np.random.default_rng(0))
    terms = Terms(N_FEATURES, kernel=Slices())
    own = OwnSites(parts, Variables(tuple(f"x{j}" for j in range(N_FEATURES))))
    if protocol == "secure":
        add, transport = join_under_masks(own, terms)
        total = add(MomentsOf(terms)).parts["total"]
        spent = cost(transport, list(parts))
    else:
        total = own(MomentsOf(terms)).parts["total"]
        spent = own.communication
    solution = solve(total.sigma, total.kernel, data.n_directions, PENALTY)
    return solution.pi, spent


def run_paper(data: Simulation, tol: float) -> tuple[np.ndarray, Communication]:
    """Run Algorithms 2 and 1 message by message."""
    parts = split_sites(data.X, data.y, data.sites, np.random.default_rng(0))
    terms = Terms(N_FEATURES, kernel=Slices())
    sites = {name: PaperSite(own, terms) for name, own in parts.items()}
    transport = InProcess(sites, on_error="raise")
    coordinator = PaperCoordinator(transport, list(parts), np.random.default_rng(1))
    sigma, counts = coordinator.covariance(N_FEATURES)
    k = data.n_directions
    iterates = coordinator.iterates(sigma, counts, k, PENALTY)
    fit = coordinator.run(iterates, k, PENALTY, tol=tol, max_iter=20_000)
    return (fit.pi + fit.pi.T) / 2, cost(transport, list(parts))


def cost(transport: InProcess, names: list[str]) -> Communication:
    """Count rounds, and the bytes that each site sent and received."""
    transcript = transport.transcript
    traffic = {name: transcript.bytes_of(name) for name in names}
    return Communication(transcript.rounds, traffic)


def pooled(data: Simulation) -> Summary:
    """Return the pooled summary of all sites."""
    parts = [data.sites == site for site in np.unique(data.sites)]
    return sum(summarize(data.X[own], data.y[own]) for own in parts)


def write_table(ledger: Ledger, path: Path) -> str:
    """Write the measurements as a table, and return its text."""
    row = ledger.rows[0]
    lines = [
        "# The default protocol beside the paper's",
        "",
        f"`python -m benchmarks.protocols`, commit {row['commit']}, {row['date']}; 10",
        f"sites of {N_PER_SITE} rows, d = {N_FEATURES}, penalty {PENALTY}, K given, no",
        "refit, no standardising. Megabytes are sent and received by one site. The",
        "objective is that of eq2.10 at Pi, made positive semi-definite and feasible;",
        "TPR and FPR count non-zero rows of Pi, as the paper defines selection.",
        "Rounded: variables with a coefficient of at least 0.005. Seconds of one core,",
        "for all parties together.",
        "",
        HEADER,
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    names = ("setting", "protocol", "tol", "rounds", "megabytes", "objective")
    names += ("nonzero", "tpr", "fpr", "fpr_rounded", "dist", "seconds")
    lines += [
        f"| {' | '.join(str(row[name]) for name in names)} |" for row in ledger.rows
    ]
    text = "\n".join([*lines, ""])
    path.write_text(text)
    return text


if __name__ == "__main__":
    main()
