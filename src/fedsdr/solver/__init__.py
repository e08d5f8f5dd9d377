"""Matrices in, matrices and a certificate out; no sites, no rows."""

from fedsdr.solver.certificate import Certificate, certify
from fedsdr.solver.path import penalty_grid, penalty_max, solve_path
from fedsdr.solver.problem import Problem
from fedsdr.solver.solution import Solution
from fedsdr.solver.solve import solve

__all__ = [
    "Certificate",
    "Problem",
    "Solution",
    "certify",
    "penalty_grid",
    "penalty_max",
    "solve",
    "solve_path",
]
