"""Sparse SIR by the lasso (Lin, Zhao and Liu 2019).

`lasso_sir` is the estimator. `sliced_sites` centres and slices the rows of every site,
`pseudo_responses` turns slice means into one response per direction, and `lasso_paths`
regresses these on the columns.
"""

from fedsdr.peers.lasso_sir.lasso_sir import LassoSIR

__all__ = ["LassoSIR"]
