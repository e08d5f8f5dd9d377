"""Matrices in, matrices and a certificate out; no sites, no rows."""

from fedsdr.solver._solve import single_threaded_blas, solve
from fedsdr.solver.certificate import Certificate, certify
from fedsdr.solver.linearized_admm import solve_linearized
from fedsdr.solver.path import penalty_grid, solve_path
from fedsdr.solver.problem import Problem, penalty_max
from fedsdr.solver.solution import Solution

__all__ = [
    "Certificate",
    "Problem",
    "Solution",
    "certify",
    "penalty_grid",
    "penalty_max",
    "single_threaded_blas",
    "solve",
    "solve_linearized",
    "solve_path",
]
