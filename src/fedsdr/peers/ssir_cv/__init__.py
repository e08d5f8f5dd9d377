"""Sparse SIR as Tan et al. (2018) tune it: cross validation of both choices.

`ssir_cv` is the estimator. `pooled_rows` centres the rows of all sites and deals them
to folds, `cross_validation` compares candidates on them, and `penalised_fits` solves
the problem for each candidate: certified, or by `shipped_admm` as the authors do.
"""

from fedsdr.peers.ssir_cv.ssir_cv import SSIRCV

__all__ = ["SSIRCV"]
