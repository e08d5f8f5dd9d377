"""Models of y on the reduced variables."""
