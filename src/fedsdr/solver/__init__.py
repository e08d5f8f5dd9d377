"""Matrices, or a source of columns, in; solution and certificate out.

There are no sites here, and no statistics.
"""

from fedsdr.blas_threads import single_threaded_blas
from fedsdr.solver._solve import solve
from fedsdr.solver.asked_source import AskedSource, MissingColumns
from fedsdr.solver.certificate import Certificate, certify
from fedsdr.solver.clock import Clock, SolveProgress
from fedsdr.solver.factor_source import FactorSource
from fedsdr.solver.from_columns import extend_solution
from fedsdr.solver.linearized_admm import solve_linearized
from fedsdr.solver.matrix_source import MatrixSource
from fedsdr.solver.path import penalty_grid, solve_path
from fedsdr.solver.problem import Problem, penalty_max
from fedsdr.solver.solution import Solution
from fedsdr.solver.sources import ColumnSource

__all__ = [
    "AskedSource",
    "Certificate",
    "Clock",
    "ColumnSource",
    "FactorSource",
    "MatrixSource",
    "MissingColumns",
    "Problem",
    "Solution",
    "SolveProgress",
    "certify",
    "extend_solution",
    "penalty_grid",
    "penalty_max",
    "single_threaded_blas",
    "solve",
    "solve_linearized",
    "solve_path",
]
