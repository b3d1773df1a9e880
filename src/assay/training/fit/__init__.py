"""Fitting a model to a file of examples: the loop that ``sft`` and ``heads`` share, around the one trainer.

Owns: how long a fit lasts, the rate, the order of the examples, evaluation, checkpoints, the folder of a run. Does not
own: what an example is, and its loss.
"""
