"""A run's folder: what it says about itself, and how it is written safely.

`manifest` describes a run, `store` writes files and folders in one step, `lock` keeps two runs out
of one folder. Running fills a folder, results read it; both meet here and nowhere else.
"""
