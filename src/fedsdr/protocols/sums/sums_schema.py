"""Messages of the plain sums, in which the coordinator sees each site's part."""

from fedsdr.protocols.schema import ANY, FieldSpec, Schema, exchange

EVERYONE = "every site"
COORDINATOR = "coordinator"

TERMS = FieldSpec(
    "terms",
    "record",
    "how every site computes its sums",
    EVERYONE,
    fields=(
        FieldSpec("n_features", "int"),
        FieldSpec("kernel", "choice", choices=("smooth", "slices", "pairs")),
        FieldSpec("slice_size", "int"),
        FieldSpec("n_slices", "int", optional=True),
        FieldSpec("discrete", "bool"),
        FieldSpec("max_votes", "int"),
        FieldSpec("n_folds", "int"),
        FieldSpec("validation_fraction", "float"),
        FieldSpec("max_candidates", "int"),
        FieldSpec("strict", "bool"),
    ),
)

BASES = FieldSpec(
    "bases",
    "list",
    "candidate directions, one matrix a penalty",
    EVERYONE,
    shape=("c",),
    items=FieldSpec("", "array", shape=("d", ANY), dtype="<f8"),
)

SUMS = Schema(
    *exchange(
        "sums.moments",
        [TERMS],
        [
            FieldSpec(
                "values",
                "array",
                "n_i, 1, degrees of freedom, upper triangles of n_i Sigma_i and "
                "n_i T_i, for all rows and for each part; then the vote for K as an "
                "indicator",
                COORDINATOR,
                ("n_values",),
                "<f8",
            )
        ],
    ),
    *exchange(
        "sums.errors",
        [TERMS, BASES],
        [
            FieldSpec(
                "values",
                "array",
                "mean squared error of each candidate on the rows held out (eq2.14)",
                COORDINATOR,
                ("c",),
                "<f8",
            )
        ],
    ),
)
