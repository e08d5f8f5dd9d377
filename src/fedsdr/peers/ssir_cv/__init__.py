"""Sparse SIR as Tan et al. (2018) tune it: cross validation of both choices."""
