"""The study impact-on-others."""
