"""The study satellite-startup."""
