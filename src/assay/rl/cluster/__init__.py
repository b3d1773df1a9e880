"""The parts of a run that live on a Ray cluster: trainer ranks and engines as actors in one placement group.

Importing any of it imports no ray and no torch.
"""
