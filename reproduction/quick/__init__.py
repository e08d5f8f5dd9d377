"""A first, quick table: 50 runs of Table 1."""
