"""The study congestion-control-evaluation."""
