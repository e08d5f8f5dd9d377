"""What the paper printed, as data.

A file has one line per printed number: its place, mean, standard deviation where the
paper gives it, and number of runs. The text gives no numbers for figures 1 to 7.
"""

from importlib.resources import files

import pandas as pd

__all__ = ["paper_table"]


def paper_table(name: str) -> pd.DataFrame:
    """Read one of the paper's tables.

    Parameters
    ----------
    name : str
        Name of a file beside this one, without its ending.

    Returns
    -------
    pandas.DataFrame
        With the columns of the file; condition, setting and method are text.
    """
    text = dict.fromkeys(("condition", "setting", "method", "metric"), str)
    with files(__package__).joinpath(f"{name}.csv").open() as stream:
        return pd.read_csv(stream, dtype=text)
