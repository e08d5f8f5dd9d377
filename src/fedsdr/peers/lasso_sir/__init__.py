"""Lasso-SIR (Lin, Zhao and Liu 2019): a lasso on each pseudo-response."""
