"""A benchmark run: what is asked of whom, what was answered, and what the official score makes of it.

Owns: passes over a benchmark's units, answers out of votes or tables, series over k, paired gains, the files of a run.
Does not own: asking itself (``scoring``), formulas (``benchmarks``), flags (``cli``), tables and pages (``report``).
"""
