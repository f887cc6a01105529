"""Noisy problems with a hidden truth, and fair comparisons of methods on them."""

from noisewise_bench import arithmetic

arithmetic.fix()
