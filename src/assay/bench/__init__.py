"""Benchmarks of reward models: what is asked, what the official score makes of the answers, and how sure it is.

Owns: the official data formats and formulas, rules for ties and failures, bootstrap intervals, published tables.
Does not own: asking a judge (``scoring``), tables and pages (``report``).
"""
