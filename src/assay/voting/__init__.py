"""Several votes about one item, and the one decision that they come to. Pure.

Owns: how a vote is drawn (seed, order), when there are enough of them, what they come to (reducers, ties, failures).
Does not own: asking for a vote (``scoring``), what a verdict says (``judges``).
"""
