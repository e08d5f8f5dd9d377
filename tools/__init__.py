"""Small programs for developers of fedsdr."""
