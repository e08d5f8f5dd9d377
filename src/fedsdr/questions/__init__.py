"""Every sum that sites can be asked for, and how a site computes its part.

A new sum is one more class here, and a case in `read_question`.
"""

from fedsdr.questions.additive_steps import (
    AxesOf,
    MeasuresOf,
    NewtonOf,
    NewtonSums,
)
from fedsdr.questions.column_frame import ColumnFrame, Index
from fedsdr.questions.column_sums import (
    ColumnPowers,
    ColumnShapes,
    GapTotals,
    ScoreSteps,
)
from fedsdr.questions.held_out import HeldOutOf
from fedsdr.questions.many_columns import BlockOf, ColumnsOf, DiagonalsOf
from fedsdr.questions.moments import CandidateErrors, MomentsOf, MomentSums
from fedsdr.questions.outcomes import (
    OUTCOMES,
    Outcomes,
    fills_from,
    powers_from,
    shape_totals,
)
from fedsdr.questions.own_rows import JoinedRows, RowsOf
from fedsdr.questions.pictures_of import PicturesOf
from fedsdr.questions.possible_sums import check_possible
from fedsdr.questions.private_moments import PrivateMoments
from fedsdr.questions.question import (
    AS_HELD,
    Adder,
    Asking,
    Question,
    RowSettings,
    Sum,
    ask_sites,
    fold_number,
)
from fedsdr.questions.reading import FOLDED, read_question
from fedsdr.questions.second_stage import ProfileOf, RemainderOf, SpreadOf
from fedsdr.questions.site_findings import AgreementOf
from fedsdr.questions.split_tests import SplitTestsOf
from fedsdr.questions.tested_spread import SpreadWithTests, ask_at_once

__all__ = [
    "AS_HELD",
    "FOLDED",
    "OUTCOMES",
    "Adder",
    "AgreementOf",
    "Asking",
    "AxesOf",
    "BlockOf",
    "CandidateErrors",
    "ColumnFrame",
    "ColumnPowers",
    "ColumnShapes",
    "ColumnsOf",
    "DiagonalsOf",
    "GapTotals",
    "HeldOutOf",
    "Index",
    "JoinedRows",
    "MeasuresOf",
    "MomentSums",
    "MomentsOf",
    "NewtonOf",
    "NewtonSums",
    "Outcomes",
    "PicturesOf",
    "PrivateMoments",
    "ProfileOf",
    "Question",
    "RemainderOf",
    "RowSettings",
    "RowsOf",
    "ScoreSteps",
    "SplitTestsOf",
    "SpreadOf",
    "SpreadWithTests",
    "Sum",
    "ask_at_once",
    "ask_sites",
    "check_possible",
    "fills_from",
    "fold_number",
    "powers_from",
    "read_question",
    "shape_totals",
]
