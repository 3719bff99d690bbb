"""The study right-aggressiveness."""
