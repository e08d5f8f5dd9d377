"""Templates of study and site files, with a comment on every key."""

from collections.abc import Sequence
from typing import Any

from fedsdr.preparation import ColumnPlan
from fedsdr.preparation.schema_file import TableSchema, as_toml
from fedsdr.spoken import as_toml_text

_STUDY = """\
# A study. Every party has its own copy of this file. The content has to be equal
# everywhere, comments and layout do not. `fedsdr study check` prints the digest to
# compare.

name = {name}
purpose = {purpose}
protocol = "secure"        # sums under masks: nobody sees a single site's numbers
timeout = 600              # seconds that a site may take to answer a message
missing = {missing}         # or "drop" these rows, or "mean" over all sites, or
                           # "mean or drop", where a site has only a few; a column
                           # may declare its own rule
# pictures = true          # sites also add y in bins of each direction, for pictures
                           # without cells of fewer than 10 rows at any site

[target]
{response}
# unit = "mmol/L"
# range = [0, 30]          # what lies outside is refused; inf leaves a side open

# One line per column, in the order of the analysis. A category becomes one indicator
# per level except the baseline, which is the first level unless declared otherwise.
# Sites can recode, convert and derive columns: docs/preparation.md has the keys.
[columns]
{columns}

[model]                    # parameters of fedsdr.FedSSIR, with its defaults
n_directions = "auto"      # or "bic", "votes", a number
penalty = "universal"      # or "moments", "holdout", a number
kernel = "smooth"          # or "slices", "pairs"
# refit = "pooled"         # one sum only, for sites whose covariances are alike
scores = "none"            # or "normal" scores, for skewed and heavy-tailed columns
response = "auto"          # by the type of the target; or "ordered" numbers, "classes"

# [prediction]             # sites also fit a model of y on the directions, to means of
# family = "auto"          # groups of rows: "linear", "logistic" or "poisson"
# site_intercepts = false  # or true: each site keeps an intercept of its own
# steps = 20               # Newton steps at most, each of which is one sum
# group_rows = 10          # fewest rows of a group, see docs/prediction.md

# [privacy]                # noise for differential privacy of single rows; every number
# epsilon = 1.0            # needs a range then, and values outside are moved to its end
# delta = 1e-6
# radius = 0.3             # see docs/privacy.md; `fedsdr study check` shows the cost

[sites]
# required = "all"         # sites that have to be in the result: all of them, a list of
                           # names, or "minimum" for any that many
# minimum = 3              # fewest sites that a sum can be opened for; by default two
                           # thirds of them, and at least 3
# joining = ["west"]       # sites that the others have added these columns without

# The line that `fedsdr keygen` prints at each site, sent to you in a way that you
# trust. At least 3 sites.
[sites.roster]
# north = "64 hexadecimal digits"
"""

#: Placeholder for the purpose of a study.
PURPOSE = "What the study is for, in words that a data steward can decide on."

_TYPE = """\
type = "number"            # or "category", with levels = ["no", "yes"]"""

_EXAMPLES = """\
age = { type = "number", unit = "years", range = [18, 110] }
ldl = { type = "number", unit = "mmol/L", range = [0, 30], missing = "mean" }
sex = { type = "category", levels = ["f", "m"], baseline = "f" }"""

_SITE = """\
# A site. This file stays at the site. Paths are relative to its folder.

name = {name}              # as in the roster
study = {study}
identity = "identity.key"  # the site's own key; nobody else may have it
ledger = "ledger"          # record of every release: never delete it
peers = "peers.json"       # accepted partners, see `fedsdr site peers`
result = "result.json"     # file for the published result
log = "site.log"           # error messages; they stay at the site
memory = 256               # mebibytes for rows; larger data are read batch by batch
# key = "patient_id"       # column that identifies a row; the order of rows then does
                           # not matter. Databases need it: they keep no order

[data]
kind = "csv"               # or "parquet", "arrow", "sql"
path = "rows.csv"

# For each column that has another name in the data: that name.
[columns]
# ldl = "LDL_CHOL"

# Limits on what may leave, see fedsdr.disclosure.Policy; these are the defaults.
[policy]
min_rows = 50
min_slice_rows = 3
min_level_rows = 3
max_columns_per_row = 0.33 # or "unlimited"
max_row_share = 0.5        # or "unlimited"
# allowed_studies = ["digest that fedsdr study check prints"]
# max_studies = 20
# max_pictures = 1         # studies with pictures of the same response
# max_models = 1           # models of the same response, 0 for none; 6 for 5 folds
# yearly_epsilon = 4.0     # budget for studies with privacy; others are then refused
# yearly_delta = 1e-5
# min_increment_rows = 50  # rows that may have been added since an earlier study
# seen_alone = true        # join sites that have added the same columns before
# min_known_peers = 3      # accepted partners in every sum; by default all partners
# join_counts = false      # not in counts of sites that do not agree with a result
"""


def study_template(
    name: str = "my-study",
    target: str = "y",
    columns: Sequence[str] = (),
    purpose: str = PURPOSE,
    schema: TableSchema | None = None,
) -> str:
    """Return the text of a study file to be completed.

    Parameters
    ----------
    name : str, default="my-study"
        Name of the study.
    target : str, default="y"
        Column of the response.
    columns : sequence of str, default=()
        Columns of X, all declared as numbers; if empty, three example columns are
        written.
    purpose : str
        Purpose of the study.
    schema : TableSchema or None, default=None
        What columns are taken for, in place of `target` and `columns`. Columns that it
        leaves out are not in the study.

    Returns
    -------
    str
        TOML text with an empty roster.
    """
    response = f"name = {as_toml_text(target)}\n{_TYPE}"
    declared: dict[str, dict[str, Any]] = {one: {"type": "number"} for one in columns}
    if schema is not None:
        declared = {plan.name: plan.table() for plan in schema.columns if _counts(plan)}
        if schema.target is not None:
            keys = {"name": schema.target.name, **schema.target.table()}
            response = "\n".join(f"{key} = {as_toml(v)}" for key, v in keys.items())
    lines = [f"{as_toml_text(one)} = {as_toml(keys)}" for one, keys in declared.items()]
    return _STUDY.format(
        name=as_toml_text(name),
        response=response,
        missing=as_toml_text("refuse" if schema is None else schema.missing),
        purpose=as_toml_text(purpose),
        columns="\n".join(lines) or _EXAMPLES,
    )


def _counts(plan: ColumnPlan) -> bool:
    """Return whether a column belongs into a study: identifiers do not."""
    return plan.type != "id"


def site_template(name: str = "north", study: str = "study.toml") -> str:
    """Return the text of a site file to be completed.

    Parameters
    ----------
    name : str, default="north"
        Name of the site.
    study : str, default="study.toml"
        Path of the site's copy of the study file.

    Returns
    -------
    str
        TOML text.
    """
    return _SITE.format(name=as_toml_text(name), study=as_toml_text(study))
