"""The study rate-limit-granularity."""
