"""Messages of FedSVD: between the authority and holders, and the server and holders."""

from fedsdr.protocols.schema import ANY, FieldSpec, MessageSpec, Schema, exchange

HOLDERS = "every holder"
HOLDER = "this holder"
SERVER = "server"
AS_NOISE = "server, as noise; of all holders' it can read the sum"

TERMS = FieldSpec(
    "terms",
    "record",
    "what is decomposed, and who learns what of it",
    HOLDERS,
    fields=(
        FieldSpec("center", "choice", choices=("global", "site", False)),
        FieldSpec("n_components", "int", optional=True),
        FieldSpec("recover_rows", "bool"),
    ),
)


def _count(name: str, formula: str, seen_by: str) -> FieldSpec:
    return FieldSpec(name, "int", formula, seen_by)


def _array(
    name: str, formula: str, seen_by: str, *shape: str, dtype: str = "<f8"
) -> FieldSpec:
    return FieldSpec(name, "array", formula, seen_by, shape, dtype)


def _asked(
    asker: str,
    name: str,
    request: tuple[FieldSpec, ...] = (),
    reply: tuple[FieldSpec, ...] = (),
) -> tuple[MessageSpec, MessageSpec]:
    return exchange(name, request, reply, asker=asker, answerer="holder")


FEDSVD = Schema(
    *_asked(
        "authority",
        "fedsvd.size",
        (),
        (
            _count("n_rows", "n_i", "authority"),
            _count("n_features", "d", "authority"),
        ),
    ),
    *_asked(
        "authority",
        "fedsvd.left",
        (
            _array("order", "of the columns in P", HOLDERS, "d", dtype="<i8"),
            FieldSpec(
                "blocks",
                "list",
                "of P, random and orthogonal",
                HOLDERS,
                items=_array("", "", "", ANY, ANY),
            ),
            _count("n_columns", "N, rows of all holders", HOLDERS),
            FieldSpec(
                "seeds",
                "mapping",
                "one for each other holder, shared with it",
                "these two holders",
                items=FieldSpec("", "bytes", shape=(32,)),
            ),
        ),
    ),
    *_asked(
        "authority",
        "fedsvd.right",
        (
            _count("start", "first column of a block of Q", HOLDERS),
            _array("rows", "of the holder, in this block", HOLDER, "n", dtype="<i8"),
            _array("block", "Q_i, the block's rows for them", HOLDER, "n", "w"),
        ),
    ),
    *_asked(
        SERVER,
        "fedsvd.begin",
        (TERMS,),
        (
            _count("n_columns", "N", SERVER),
            _count("n_features", "d", SERVER),
            _count("n_holders", "number of holders", SERVER),
            _count("n_blocks", "blocks of Q", SERVER),
        ),
    ),
    *_asked(
        SERVER,
        "fedsvd.share",
        (),
        (
            _array(
                "masked",
                "P X_i 1 / N under pairwise masks",
                AS_NOISE,
                "d",
                "words",
                dtype="<u8",
            ),
        ),
    ),
    *_asked(
        SERVER, "fedsvd.mean", (_array("mean", "P X 1 / N, the sum", HOLDERS, "d"),)
    ),
    *_asked(
        SERVER,
        "fedsvd.columns",
        (
            _count("start", "first column", HOLDERS),
            _count("stop", "column after the last", HOLDERS),
        ),
        (
            _array(
                "masked",
                "columns of P X_i Q_i under pairwise masks",
                AS_NOISE,
                "d",
                "w",
                "words",
                dtype="<u8",
            ),
        ),
    ),
    *_asked(
        SERVER,
        "fedsvd.factors",
        (
            _array("left", "U', of P X Q = U' S V'", HOLDERS, "d", "k"),
            _array("values", "S", HOLDERS, "k"),
            FieldSpec("total", "float", "sum of all squared values", HOLDERS),
        ),
    ),
    *_asked(
        SERVER,
        "fedsvd.cover",
        (_count("block", "number of a block of Q", HOLDERS),),
        (
            _array(
                "cover",
                "Q_i' R_i, if the holder agreed; shows the server the span of Q_i, and "
                "with it the singular values of this holder's rows",
                SERVER,
                "w",
                "n",
            ),
        ),
    ),
    *_asked(
        SERVER,
        "fedsvd.rows",
        (_array("covered", "V' Q_i' R_i", HOLDER, "k", "n"),),
    ),
)
