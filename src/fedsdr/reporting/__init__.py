"""Plots of results: functions that draw a data frame to a file."""
