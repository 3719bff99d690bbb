"""The study queue-disciplines."""
