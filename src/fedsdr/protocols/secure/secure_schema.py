"""Messages of the secure sum, in which no party sees the part of another site."""

from dataclasses import replace

from fedsdr.normal_scores import N_CUTS
from fedsdr.protocols.schema import ANY, FieldSpec, Schema, exchange
from fedsdr.secure_sum.parcels import Parcel
from fedsdr.summaries.families import FAMILIES
from fedsdr.summaries.newton_parts import OWN

EVERYONE = "every site"
COORDINATOR = "coordinator"

BOTH = "coordinator, every site"

SHARE_BYTES = 32
#: What shows a share to others: the share, and the number that blinds its commitment.
OPENING_BYTES = 2 * SHARE_BYTES
SIGNATURE_BYTES = 64

BASES = FieldSpec(
    "bases",
    "list",
    "candidate directions, one matrix per penalty",
    EVERYONE,
    shape=("c",),
    items=FieldSpec("", "array", shape=("d", ANY), dtype="<f8"),
)

#: Second stage: selected variables, their scale, directions, what sites have in common.
PROFILE = (
    FieldSpec("columns", "array", shape=(ANY,), dtype="<i8", absent=True),
    FieldSpec("scale", "array", shape=(ANY,), dtype="<f8", absent=True),
    FieldSpec("basis", "array", shape=(ANY, ANY), dtype="<f8", absent=True),
    FieldSpec("own", "float", absent=True),
    FieldSpec("common", "array", shape=(ANY, ANY), dtype="<f8", absent=True),
    FieldSpec("n_rows", "int", absent=True),
    FieldSpec("weight", "float", absent=True),
    FieldSpec("shares", "array", shape=(ANY,), dtype="<f8", absent=True),
    FieldSpec("variances", "array", shape=(ANY,), dtype="<f8", absent=True),
    FieldSpec("sigma", "array", shape=(ANY, ANY), dtype="<f8", absent=True),
)

#: What halves of the rows have selected, to be tested on the other halves.
TESTED = (
    FieldSpec("tested", "array", shape=(ANY,), dtype="<i8", absent=True),
    FieldSpec("tested_scale", "array", shape=(ANY,), dtype="<f8", absent=True),
    FieldSpec(
        "tests",
        "list",
        absent=True,
        items=FieldSpec(
            "",
            "record",
            fields=(
                FieldSpec("half", "int"),
                FieldSpec("columns", "array", shape=(ANY,), dtype="<i8"),
                FieldSpec("basis", "array", shape=(ANY, ANY), dtype="<f8"),
                FieldSpec("slopes", "array", shape=(ANY, ANY), dtype="<f8"),
                FieldSpec("inverse", "array", shape=(ANY, ANY), dtype="<f8"),
                FieldSpec("own", "float"),
                FieldSpec("common", "array", shape=(ANY, ANY), dtype="<f8"),
            ),
        ),
    ),
)

#: A model of y on the reduced variables, at which derivatives are wanted.
MODEL = (
    FieldSpec("centre", "array", shape=(ANY,), dtype="<f8", absent=True),
    FieldSpec("spread", "array", shape=(ANY,), dtype="<f8", absent=True),
    FieldSpec("family", "choice", absent=True, choices=FAMILIES),
    FieldSpec("deviates", "choice", absent=True, choices=OWN),
    FieldSpec("weights", "array", shape=(2,), dtype="<f8", absent=True),
    FieldSpec("coefficients", "array", shape=(ANY,), dtype="<f8", absent=True),
)

CUTS = FieldSpec("cuts", "array", shape=("d", N_CUTS), dtype="<f8", absent=True)

#: The map of each column to its normal scores.
SCORES = tuple(
    FieldSpec(name, "array", formula, EVERYONE, ("d", N_CUTS + 1), "<f8", absent=True)
    for name, formula in (
        ("points", "values between which scores are linear, if the study has scores"),
        ("scores", "normal scores of these values"),
    )
)

ROUND = FieldSpec("round", "text", "name of the round, used once", EVERYONE)

KEYS = (
    FieldSpec("mask_key", "bytes", "X25519 key of pairwise masks", BOTH, (32,)),
    FieldSpec("box_key", "bytes", "X25519 key of boxes", BOTH, (32,)),
    FieldSpec("commitment", "bytes", "X25519 key of the seed of r_i", BOTH, (32,)),
    FieldSpec("n_entries", "int", "number of entries in the site's ledger", BOTH),
    FieldSpec("head", "bytes", "hash of its last entry", BOTH, (32,)),
    FieldSpec("signature", "bytes", "Ed25519, over keys, study and round", BOTH, (64,)),
)


EVERY_KEY = FieldSpec(
    "keys",
    "mapping",
    "keys of every site that sent its keys",
    EVERYONE,
    items=FieldSpec("", "record", fields=KEYS),
)


def _by_site(name: str, formula: str, seen_by: str, length: int) -> FieldSpec:
    item = FieldSpec("", "bytes", shape=(length,))
    return FieldSpec(name, "mapping", formula, seen_by, items=item)


CERTIFICATE = (
    FieldSpec("penalty", "float", "rho"),
    FieldSpec("objective", "float", "of eq2.10"),
    FieldSpec("dual_bound", "float", "lower bound of the objective", optional=True),
    FieldSpec(
        "gap", "float", "relative difference of objective and dual bound", optional=True
    ),
    FieldSpec("converged", "bool", "whether the gap is within the tolerance"),
    FieldSpec(
        "scale", "array", "factors by which columns were divided", "", ("d",), "<f8"
    ),
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
        "means that gaps were filled with, sent to the sites before",
        EVERYONE,
        ("g",),
        "<f8",
        absent=True,
    ),
    FieldSpec(
        "weak",
        "bool",
        "whether even the first direction cannot be distinguished from noise",
        EVERYONE,
        absent=True,
    ),
    FieldSpec(
        "at_limit",
        "bool",
        "whether there may be more directions than were considered",
        EVERYONE,
        absent=True,
    ),
    *SCORES,
    FieldSpec(
        "tests",
        "array",
        "of every variable p-value, q-value and share of the halves that select it, if "
        "the study tests variables",
        EVERYONE,
        ("d", 3),
        "<f8",
        absent=True,
    ),
    FieldSpec(
        "needs",
        "array",
        "number of sites that need 1, ..., K directions, by their own rows",
        EVERYONE,
        ("K",),
        "<i8",
        absent=True,
    ),
    FieldSpec(
        "need_others", "int", "number of sites that need others", EVERYONE, absent=True
    ),
    FieldSpec(
        "one_span",
        "float",
        "p-value of the test that all sites have one span",
        EVERYONE,
        absent=True,
    ),
    FieldSpec(
        "stand_ins",
        "array",
        "pairs of variables: a selected one, and a near-twin that could replace it",
        EVERYONE,
        ("p", 2),
        "<i8",
        absent=True,
    ),
)

#: What is asked for.
QUESTION = (
    FieldSpec(
        "statistic",
        "choice",
        "statistic that is added",
        EVERYONE,
        choices=(
            "powers",
            "means",
            "shapes",
            "steps",
            "moments",
            "diagonals",
            "block",
            "columns",
            "errors",
            "split_tests",
            "tested_spread",
            "spread",
            "profile",
            "remainder",
            "agreement",
            "pictures",
            "axes",
            "newton",
            "measures",
            "held_out",
            "private",
        ),
    ),
    FieldSpec(
        "request",
        "record",
        "powers of two that columns are divided by, if sites agreed on them; "
        "cuts of each column for steps; means that gaps are filled with, if "
        "the study fills gaps; points and scores, if it has scores; candidate "
        "directions for errors; the columns of block and columns; for the second "
        "stage the selected columns "
        "with their scale, and for spread their pooled covariance, for "
        "profile and remainder directions, with pooled coefficients and "
        "covariance where sites use them, for agreement the directions, what "
        "they explain, and the usual variance of every column; for split_tests what "
        "each half of the rows has selected: columns, directions, expected slopes, the "
        "inverse covariance of the other half, and coefficients of common functions of "
        "y; for tested_spread both that and what spread has; for pictures and axes "
        "directions, and for newton and measures also a model of y on the reduced "
        "variables: where its knots are, its family, coefficients, and how far sites "
        "may deviate; the number of a fold, if the sum is without it; otherwise "
        "nothing",
        EVERYONE,
        fields=(
            FieldSpec("powers", "array", shape=("d",), dtype="<i8", absent=True),
            CUTS,
            FieldSpec("means", "array", shape=(ANY,), dtype="<f8", absent=True),
            FieldSpec("fold", "int", absent=True),
            *SCORES,
            replace(BASES, absent=True),
            *PROFILE,
            *TESTED,
            *MODEL,
        ),
    ),
)

SECURE = Schema(
    *exchange(
        "secure.agree",
        [
            FieldSpec(
                "study",
                "text",
                "digest of the study's terms, columns and sites, in hexadecimal; every "
                "party has its own copy of these",
                EVERYONE,
            )
        ],
        [
            FieldSpec(
                "is_wide",
                "bool",
                "whether some column has numbers too large or too small to be added as "
                "they are; sites then agree on powers of two first",
                COORDINATOR,
                absent=True,
            )
        ],
    ),
    *exchange(
        "secure.keys",
        [
            ROUND,
            *QUESTION,
        ],
        KEYS,
    ),
    *exchange(
        "secure.shares",
        [
            ROUND,
            EVERY_KEY,
        ],
        [
            _by_site(
                "boxes",
                "for every site, a share of the seed of r_i and one of the private "
                "mask key, encrypted for that site, with commitments, a proof that all "
                "shares open what was signed, and a signature",
                "the proof: coordinator, the other site; the shares: the other site",
                Parcel.SIZE,
            )
        ],
    ),
    *exchange(
        "secure.verify",
        [
            ROUND,
            _by_site("boxes", "from every other site", "the site alone", Parcel.SIZE),
        ],
        [
            _by_site(
                "complaints",
                "signature that the shares of a site do not fit what it signed; empty, "
                "if all sites are honest",
                "coordinator, the other site",
                SIGNATURE_BYTES,
            ),
            FieldSpec(
                "unsigned",
                "list",
                "sites whose boxes arrived without their signature",
                COORDINATOR,
                items=FieldSpec("", "text"),
            ),
        ],
    ),
    *exchange(
        "secure.dispute",
        [
            ROUND,
            _by_site(
                "complaints",
                "signed complaints about this site; sent only if there are any",
                "the site alone",
                SIGNATURE_BYTES,
            ),
        ],
        [
            _by_site(
                "keys",
                "for each of these sites, the key of its box, which shows its shares",
                COORDINATOR,
                SHARE_BYTES,
            )
        ],
    ),
    *exchange(
        "secure.masked",
        [
            ROUND,
            _by_site("boxes", "from every other site", "the site alone", Parcel.SIZE),
        ],
        [
            FieldSpec(
                "masked",
                "array",
                "x_i + r_i + sum_{j > i} s_ij - sum_{j < i} s_ij modulo 2^(64 words), "
                "with x_i for moments: n_i, 1, degrees of freedom, upper triangles of "
                "n_i Sigma_i and n_i T_i, sqrt(n_i) times the products of the columns "
                "with the functions of y, their products with y itself, and its "
                "square, for all rows and for each part, then the vote for K as an "
                "indicator; for diagonals: the same of all rows, but of both matrices "
                "the diagonals only; for block: both triangles of the columns asked "
                "for; for columns: of both matrices the columns asked for; for "
                "errors: mean squared error of each candidate on the "
                "rows held out (eq2.14); for means: counts and sums of the columns "
                "with gaps; for shapes: of each column count, sum, mean, its square, "
                "variance, and counts between powers of two; for steps: of each "
                "column the counts between its cuts, weights of the cuts, and "
                "weighted steps of the site's normal scores at them; for spread: the "
                "distance of Sigma_i from the pooled one on the selected columns, "
                "what sampling alone would give, the binary logarithm of every "
                "column's variance as a whole number, and 1 for every column that "
                "varies; for profile: upper triangles of curvature, noise, and what "
                "the directions leave of n_i T_i and n_i Sigma_i on the selected "
                "columns, the score, and some numbers (see fedsdr.summaries.profile); "
                "for remainder: of every column how much the functions of y move it "
                "beside curves of the directions, and what noise gives; for "
                "agreement: 1 for each of UNITS, SILENT and OUTSIDE that applies, "
                "four numbers of how many directions the site uses, and of every "
                "column its skewness and products of its square with functions of y, "
                "then at five levels 1 for the number of directions that the site "
                "needs, and degrees of freedom; for pictures: in bins of each "
                "direction the rows of each class, or rows and y, without small "
                "cells; "
                "for split_tests: for each half and tested variable the coefficients "
                "of functions of y, their products with squared residuals, and fourth "
                "powers, over the rows of the other half, their number, and 1; for "
                "tested_spread: these and then those of spread; "
                "for powers: of each column the whole number nearest to log2 of its "
                "standard deviation, and 1 unless it is constant; for axes: n_i, 1, "
                "sums and squares of y and of the reduced variables, where in a study "
                "every row is at the mean of its group; for newton: "
                "n_i, 1, loss, squares of the site's own deviations and what they are "
                "uncertain by, sums of the model's columns, gradient, and upper "
                "triangle of the curvature; for measures: n_i, sum and squares of y, "
                "squared errors, losses, and for two classes in bins of the predictor "
                "the rows of either class and the predictions; for held_out: the same, "
                "of predictions of rows that a model has not seen; for private: the "
                "upper triangle of the sum of w w' over bounded rows w, with discrete "
                "Gaussian noise of this site, and 1",
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
                "sites whose masked numbers have arrived",
                EVERYONE,
                items=FieldSpec("", "text"),
            ),
        ],
        [FieldSpec("signature", "bytes", "Ed25519, over that set", BOTH, (64,))],
    ),
    *exchange(
        "secure.unmask",
        [
            ROUND,
            _by_site("signatures", "of that set, from every site in it", EVERYONE, 64),
        ],
        [
            _by_site(
                "shares",
                "for every survivor a share of the seed of its r_j, for every lost "
                "site a share of its private mask key, each with the blind of its "
                "commitment",
                COORDINATOR,
                OPENING_BYTES,
            )
        ],
    ),
    *exchange(
        "secure.opened",
        [
            ROUND,
            *QUESTION,
            EVERY_KEY,
            FieldSpec(
                "shared",
                "list",
                "sites that shared their secrets",
                EVERYONE,
                items=FieldSpec("", "text"),
            ),
            FieldSpec(
                "masked",
                "mapping",
                "masked numbers of every site in the sum, with which each site opens "
                "the sum itself: sums from which values follow that sites compute "
                "with, and those of a model that the study agreed on",
                "every site, as noise; of the x_i it can read the sum",
                items=FieldSpec("", "array", shape=("v", "words"), dtype="<u8"),
            ),
            _by_site("signatures", "of the masked numbers", EVERYONE, 64),
            _by_site("confirmed", "signatures of which sites stayed", EVERYONE, 64),
            FieldSpec(
                "shares",
                "mapping",
                "shares from secure.unmask, by the site that gave them",
                EVERYONE,
                items=_by_site("", "", "", SHARE_BYTES),
            ),
        ],
    ),
    *exchange("secure.result", RESULT),
)
