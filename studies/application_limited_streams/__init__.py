"""The study application-limited-streams."""
