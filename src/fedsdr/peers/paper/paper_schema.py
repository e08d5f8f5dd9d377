"""Messages of the paper's Algorithms 1 and 2, which show what a site should keep."""

from fedsdr.protocols.schema import FieldSpec, Schema, exchange
from fedsdr.protocols.secure.secure_schema import BASES, COORDINATOR, EVERYONE


def _matrix(name: str, formula: str, seen_by: str, *shape: str) -> FieldSpec:
    return FieldSpec(name, "array", formula, seen_by, shape or ("d", "d"), "<f8")


FITTING = FieldSpec(
    "fitting", "bool", "whether to leave out the rows held out", EVERYONE
)

PAPER = Schema(
    *exchange(
        "paper.mask",
        [_matrix("rotation", "P, drawn by the coordinator", EVERYONE), FITTING],
        [
            _matrix(
                "rotated",
                "P X_i Psi_i, rows centred; its product with its transpose, P undone, "
                "is n_i Sigma_i",
                COORDINATOR,
                "d",
                "n_i",
            )
        ],
    ),
    *exchange(
        "paper.vote",
        [FieldSpec("max_directions", "int", "largest K considered", EVERYONE)],
        [
            FieldSpec(
                "n_directions",
                "int",
                "the site's own choice of K (eq2.14a), none without a kernel",
                COORDINATOR,
                optional=True,
            )
        ],
    ),
    *exchange(
        "paper.start",
        [
            FieldSpec("penalty", "float", "rho", EVERYONE),
            FieldSpec("nu", "float", "ADMM parameter", EVERYONE),
            _matrix("scale", "what columns are divided by", EVERYONE, "d"),
            FITTING,
        ],
    ),
    *exchange(
        "paper.step",
        [
            _matrix("pi", "Pi, average over the sites", EVERYONE),
            _matrix("pull", "M, gradient of the constraint", EVERYONE),
        ],
        [
            _matrix(
                "pi",
                "ST[Pi + (T_i - nu M) / alpha_i, rho / alpha_i]; shows T_i wherever it "
                "is not zero",
                COORDINATOR,
            )
        ],
    ),
    *exchange(
        "paper.errors",
        [BASES],
        [
            _matrix(
                "errors",
                "mean squared error of each candidate on the rows held out (eq2.14)",
                COORDINATOR,
                "c",
            )
        ],
    ),
    *exchange(
        "paper.finish",
        [
            _matrix("pi", "Pi, the last one", EVERYONE),
            _matrix("basis", "B, its top eigenvectors", EVERYONE, "d", "K"),
        ],
        [
            FieldSpec("value", "float", "tr(T_i Pi)", COORDINATOR),
            _matrix("between", "B' T_i B", COORDINATOR, "K", "K"),
        ],
    ),
)
