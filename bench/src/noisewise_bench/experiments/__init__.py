"""Studies: each is a grid, then rows -> tables, behind one command.

``python -m noisewise_bench.experiments NAME`` runs what is missing, resumes after an interruption
and writes ``NAME.md`` and ``NAME.csv``; ``--help`` names the studies.
"""
