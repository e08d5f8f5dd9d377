"""Plots of results: functions that draw a data frame to a file."""

from fedsdr.extras import require

require("plots", "drawing pictures")
