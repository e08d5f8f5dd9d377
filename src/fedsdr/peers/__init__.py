"""The systems that the paper compares with, one folder each, and the paper itself."""
