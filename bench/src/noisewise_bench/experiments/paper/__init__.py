"""The figures and tables of the paper, one file each: a grid, then rows -> artifact.

``python -m noisewise_bench.reproduce`` makes them. Modules whose name starts with an underscore
are what they share; every other module has an ``ARTIFACT``.
"""
