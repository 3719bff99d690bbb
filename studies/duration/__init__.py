"""The study duration."""
