"""A run's folder: what it says about itself, and how it is written safely.

`manifest` describes a run, `captured` what was read where captures were analysed, `store` writes
files and folders in one step, `lock` keeps two runs out of one folder. Running and analysing fill a
folder, results read it; they meet here and nowhere else.
"""
