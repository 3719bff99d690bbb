"""Differential recording: the running kernel and our endpoint, asked the same."""
