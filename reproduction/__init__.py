"""The paper's tables and figures, run again and compared with what the paper printed.

This package is not part of the installed one: it is imported from a clone of the
repository, where `fedsdr reproduce` finds it. Each module of `experiments` defines one
`Experiment`; `registry` names them, `runner` runs what is missing of one, `page` writes
its verdict and `overall` the page about all of them. Beside the code, each experiment
has a folder with its configuration, results and verdict.
"""

from reproduction.requirements import check_requirements

check_requirements()

from reproduction.experiment import Check, Experiment, Task, Verdict  # noqa: E402
from reproduction.paper import paper_table  # noqa: E402

__all__ = ["Check", "Experiment", "Task", "Verdict", "paper_table"]
