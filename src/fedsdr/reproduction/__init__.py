"""The paper's tables and figures, run again and compared with what it printed.

An experiment is one file with an `Experiment`; `registry` names them, `runner` runs
what is missing of one, `page` writes its verdict and the page over all of them.
"""

from fedsdr.reproduction.experiment import Check, Experiment, Task, Verdict
from fedsdr.reproduction.paper import paper_table

__all__ = ["Check", "Experiment", "Task", "Verdict", "paper_table"]
