"""Reward heads: one logit on a text's last token, trained on preferences, or on judgments known to be right or wrong.

Owns: the model with a head, the examples of each kind, their losses over a batch. ``fit`` does the rest.
"""
