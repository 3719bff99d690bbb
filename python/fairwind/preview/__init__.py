"""Preview of a plan: what it describes, what it costs, and which traps it contains.

Everything is computed from resolved experiments, and nothing is run. No library is imported, so
that `fairwind check` answers at once. Map: `network` routes and bottlenecks, `traffic` what groups
send, `cost` segments, time and memory, `traps` warnings, `description` the lines of `check`.
"""
