"""Pictures of results: plain functions from a data frame to a file."""
