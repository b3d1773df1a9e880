"""Verifiable preference data out of nothing: items whose gold a rule decides, and the texts of an oracle critic. Pure.

Owns: the kinds, their split into a training side and a held-out side, the oracle. Does not own: files (``data``, the
command line), models, training.
"""
