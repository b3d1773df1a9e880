"""Supervised fine-tuning: rows of a file as tokens with a mask, and their loss. ``fit`` does the rest.

The loss of an update is the mean over all of its learned tokens, each weighted by its row: tokens count alike,
whichever row they are in.
"""
