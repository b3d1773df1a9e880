"""Votes: pure. How the randomness of each vote is drawn."""
