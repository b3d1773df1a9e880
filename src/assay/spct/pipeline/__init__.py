"""The whole of SPCT as a graph of stages. Pure: a recipe becomes stages, stages become command lines.

Owns: which stages there are, what each needs, when one is another one. Does not own: running them (``cli.spct_run``).
"""
