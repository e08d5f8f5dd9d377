"""The systems that the paper compares with and its own protocol, one folder each."""
