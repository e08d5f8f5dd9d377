"""Which experiments there are, in the order of the verdict page."""

from importlib import import_module

from fedsdr.exceptions import InputError
from reproduction.experiment import Experiment

#: Name of each experiment, and the module in `experiments` that defines it.
MODULES = {
    "table1": "table1",
    "error-rate": "error_rate",
    "clients": "clients",
    "mixture": "mixture",
    "mixture-rows": "mixture_rows",
    "credit": "credit",
    "communities": "communities",
    "non-gaussian": "non_gaussian",
    "dimension": "dimension",
}


def experiment_names() -> tuple[str, ...]:
    """List the experiments.

    Returns
    -------
    tuple of str
        Names of the experiments.
    """
    return tuple(MODULES)


def find_experiment(name: str) -> Experiment:
    """Load an experiment.

    Parameters
    ----------
    name : str
        One of `experiment_names`.

    Returns
    -------
    Experiment
        The experiment.
    """
    if name not in MODULES:
        raise InputError(
            f"there is no experiment {name!r}: choose from {', '.join(MODULES)}, all"
        )
    module = import_module(f"reproduction.experiments.{MODULES[name]}")
    return module.EXPERIMENT
