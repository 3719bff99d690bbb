"""The study remembered-windows."""
