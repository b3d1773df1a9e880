"""The metrics of a run: a line a step in ``metrics.jsonl``, and the same numbers to whichever tracker is wanted."""
