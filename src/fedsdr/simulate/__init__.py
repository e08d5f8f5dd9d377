"""The models and partitions of the paper's simulation study."""

from fedsdr.simulate.settings import Simulation, make_setting

__all__ = ["Simulation", "make_setting"]
