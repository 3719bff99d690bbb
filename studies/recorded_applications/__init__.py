"""The study recorded-applications."""
