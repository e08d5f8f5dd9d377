"""Matrices in, matrices and a certificate out; no sites, no rows."""

from fedsdr.solver.certificate import Certificate, certify
from fedsdr.solver.path import penalty_grid, penalty_max, solve_path
from fedsdr.solver.problem import Problem
from fedsdr.solver.solution import Solution
from fedsdr.solver.solve import solve
from fedsdr.solver.threads import single_threaded_blas

__all__ = [
    "Certificate",
    "Problem",
    "Solution",
    "certify",
    "penalty_grid",
    "penalty_max",
    "single_threaded_blas",
    "solve",
    "solve_path",
]
