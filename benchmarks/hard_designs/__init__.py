"""Designs on which version 0.1 fails, family by family, as functions of a seed."""

from benchmarks.hard_designs import (
    covariances,
    many_variables,
    odd_sites,
    pure_noise,
    skewed,
    small_sites,
)
from benchmarks.hard_designs.sample import Design, Sample

__all__ = ["DESIGNS", "FAMILIES", "Design", "Sample"]

_MODULES = (covariances, small_sites, skewed, many_variables, odd_sites, pure_noise)

#: Names of the families.
FAMILIES = tuple(module.FAMILY for module in _MODULES)

#: Every design, by family and name, in the order of the page.
DESIGNS: dict[tuple[str, str], Design] = {
    (design.family, design.name): design
    for module in _MODULES
    for design in module.DESIGNS
}
