"""Every sum that sites can be asked for, and how a site computes its part.

A new sum is one more class here, and a case in `read_question`.
"""

from fedsdr.questions.column_frame import ColumnFrame, Index
from fedsdr.questions.column_sums import (
    ColumnPowers,
    ColumnShapes,
    GapTotals,
    ScoreSteps,
)
from fedsdr.questions.moments import CandidateErrors, MomentsOf, MomentSums
from fedsdr.questions.question import (
    AS_HELD,
    Adder,
    Asking,
    Question,
    RowSettings,
    Sum,
    ask_sites,
)
from fedsdr.questions.reading import read_question
from fedsdr.questions.second_stage import ProfileOf, RemainderOf, SpreadOf
from fedsdr.questions.site_findings import AgreementOf

__all__ = [
    "AS_HELD",
    "Adder",
    "AgreementOf",
    "Asking",
    "CandidateErrors",
    "ColumnFrame",
    "ColumnPowers",
    "ColumnShapes",
    "GapTotals",
    "Index",
    "MomentSums",
    "MomentsOf",
    "ProfileOf",
    "Question",
    "RemainderOf",
    "RowSettings",
    "ScoreSteps",
    "SpreadOf",
    "Sum",
    "ask_sites",
    "read_question",
]
