"""The experiments: one module for each table or figure."""
