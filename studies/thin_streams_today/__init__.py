"""The study thin-streams-today."""
