"""The folder of a run: its description, and safe writing.

`manifest` describes a run and analysed captures, `store` writes files and folders in one step and
keeps two runs out of one folder, `cell_tables` are the tables of one simulation, `differing` names
the settings in which two runs differ. Running and
analysing fill a folder, results read it; they meet here and nowhere else.
"""
