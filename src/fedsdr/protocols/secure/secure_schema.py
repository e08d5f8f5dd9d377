"""Messages of the secure sum, in which nobody sees a single site's part."""

from dataclasses import replace

from fedsdr.protocols.schema import ANY, FieldSpec, Schema, exchange

EVERYONE = "every site"
COORDINATOR = "coordinator"

BOTH = "coordinator, every site"

#: A nonce of 12 bytes, two shares of 32, a tag of 16.
BOX_BYTES = 92
SHARE_BYTES = 32

BASES = FieldSpec(
    "bases",
    "list",
    "candidate directions, one matrix per penalty",
    EVERYONE,
    shape=("c",),
    items=FieldSpec("", "array", shape=("d", ANY), dtype="<f8"),
)

ROUND = FieldSpec("round", "text", "name of the round, used once", EVERYONE)

KEYS = (
    FieldSpec("mask_key", "bytes", "X25519 key of pairwise masks", BOTH, (32,)),
    FieldSpec("box_key", "bytes", "X25519 key of boxes", BOTH, (32,)),
    FieldSpec("commitment", "bytes", "SHA-256 of the seed of r_i", BOTH, (32,)),
    FieldSpec("signature", "bytes", "Ed25519, over keys, study and round", BOTH, (64,)),
)


def _by_site(name: str, formula: str, seen_by: str, length: int) -> FieldSpec:
    item = FieldSpec("", "bytes", shape=(length,))
    return FieldSpec(name, "mapping", formula, seen_by, items=item)


CERTIFICATE = (
    FieldSpec("penalty", "float", "rho"),
    FieldSpec("objective", "float", "of eq2.10"),
    FieldSpec("dual_bound", "float", "below which no objective can be", optional=True),
    FieldSpec("gap", "float", "between the two, relative", optional=True),
    FieldSpec("converged", "bool", "whether the gap is small enough"),
    FieldSpec("scale", "array", "what columns were divided by", "", ("d",), "<f8"),
)

RESULT = (
    FieldSpec("directions", "array", "B", EVERYONE, ("d", "K"), "<f8"),
    FieldSpec("support", "array", "selected variables", EVERYONE, ("d",), "|b1"),
    FieldSpec(
        "eigenvalues",
        "array",
        "share of each direction's variance that y explains",
        EVERYONE,
        ("K",),
        "<f8",
    ),
    FieldSpec("n_rows", "int", "N, rows of all sites", EVERYONE),
    FieldSpec("n_sites", "int", "m", EVERYONE),
    *(replace(field, seen_by=EVERYONE) for field in CERTIFICATE),
    FieldSpec(
        "sites",
        "list",
        "sites in the sum",
        EVERYONE,
        items=FieldSpec("", "text"),
        absent=True,
    ),
    FieldSpec(
        "means",
        "array",
        "what gaps were filled with, as sites were told before",
        EVERYONE,
        ("g",),
        "<f8",
        absent=True,
    ),
)

SECURE = Schema(
    *exchange(
        "secure.agree",
        [
            FieldSpec(
                "study",
                "text",
                "digest of the study's terms, columns and sites, in hexadecimal; each "
                "party has its own copy of them",
                EVERYONE,
            )
        ],
    ),
    *exchange(
        "secure.keys",
        [
            ROUND,
            FieldSpec(
                "statistic",
                "choice",
                "what is to be added",
                EVERYONE,
                choices=("means", "moments", "errors"),
            ),
            FieldSpec(
                "request",
                "record",
                "what gaps are filled with, where a study says so; candidate "
                "directions for errors; otherwise nothing",
                EVERYONE,
                fields=(
                    FieldSpec("means", "array", shape=(ANY,), dtype="<f8", absent=True),
                    replace(BASES, absent=True),
                ),
            ),
        ],
        KEYS,
    ),
    *exchange(
        "secure.shares",
        [
            ROUND,
            FieldSpec(
                "keys",
                "mapping",
                "keys of every site that showed some",
                EVERYONE,
                items=FieldSpec("", "record", fields=KEYS),
            ),
        ],
        [
            _by_site(
                "boxes",
                "for each other site a share of the seed of r_i and one of the mask "
                "key's private half, encrypted for it",
                "the other site; the coordinator passes it on closed",
                BOX_BYTES,
            )
        ],
    ),
    *exchange(
        "secure.masked",
        [
            ROUND,
            _by_site("boxes", "from each other site", "the site alone", BOX_BYTES),
        ],
        [
            FieldSpec(
                "masked",
                "array",
                "x_i + r_i + sum_{j > i} s_ij - sum_{j < i} s_ij modulo 2^(64 words), "
                "with x_i for moments: n_i, 1, degrees of freedom, upper triangles of "
                "n_i Sigma_i and n_i T_i, for all rows and for each part, then the "
                "vote for K as an indicator; for errors: mean squared error of each "
                "candidate on the rows held out (eq2.14); for means: counts and sums "
                "of the columns with gaps",
                "coordinator, as noise; of the x_i it can read the sum",
                ("n_values", "words"),
                "<u8",
            ),
            FieldSpec("signature", "bytes", "Ed25519, over masked", COORDINATOR, (64,)),
        ],
    ),
    *exchange(
        "secure.confirm",
        [
            ROUND,
            FieldSpec(
                "survivors",
                "list",
                "sites whose masked numbers arrived",
                EVERYONE,
                items=FieldSpec("", "text"),
            ),
        ],
        [FieldSpec("signature", "bytes", "Ed25519, over that set", BOTH, (64,))],
    ),
    *exchange(
        "secure.unmask",
        [ROUND, _by_site("signatures", "of that set, from each site", EVERYONE, 64)],
        [
            _by_site(
                "shares",
                "for each survivor a share of the seed of its r_j, for each site that "
                "was lost a share of its mask key",
                COORDINATOR,
                SHARE_BYTES,
            )
        ],
    ),
    *exchange("secure.result", RESULT),
)
