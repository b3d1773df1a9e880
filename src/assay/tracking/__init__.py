"""The metrics of a run: a line a step in ``metrics.jsonl``, and the same numbers to whichever tracker is wanted.

Every run that trains writes them, by whatever it trains. Owns: the lines and the trackers. Does not own: the numbers.
"""
