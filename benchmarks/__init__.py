"""Benchmarks, which report ratios of times that are measured in one run."""
