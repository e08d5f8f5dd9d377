"""Pictures and pages of results.

Displays follow scikit-learn's convention: ``from_estimator`` or ``from_result``
computes what is shown and draws it, ``plot`` draws it again on axes of the caller, and
``figure_`` and ``axes_`` hold what was drawn on. `write_report` makes one page of all.
"""

from fedsdr.extras import require

require("plots", "drawing pictures")

from fedsdr.reporting.assumptions_display import AssumptionsDisplay  # noqa: E402
from fedsdr.reporting.binned_display import BinnedSummaryDisplay  # noqa: E402
from fedsdr.reporting.dimension_display import DimensionDisplay  # noqa: E402
from fedsdr.reporting.loadings_display import LoadingsDisplay  # noqa: E402
from fedsdr.reporting.path_display import SelectionPathDisplay  # noqa: E402
from fedsdr.reporting.report_page import make_report, write_report  # noqa: E402
from fedsdr.reporting.sites_display import SitesDisplay  # noqa: E402
from fedsdr.reporting.stability_display import StabilityDisplay  # noqa: E402
from fedsdr.reporting.summary_display import SummaryDisplay  # noqa: E402
from fedsdr.summaries.safe_bins import SafeBins, suppress_small  # noqa: E402

__all__ = [
    "AssumptionsDisplay",
    "BinnedSummaryDisplay",
    "DimensionDisplay",
    "LoadingsDisplay",
    "SafeBins",
    "SelectionPathDisplay",
    "SitesDisplay",
    "StabilityDisplay",
    "SummaryDisplay",
    "make_report",
    "suppress_small",
    "write_report",
]
