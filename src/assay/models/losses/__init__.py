"""The policy loss and its parts, on a flat packed layout: one idea a file, every function pure.

The layout: all tensors are 1-D over the response tokens of a (micro-)batch, ``[T]``; ``sequence [T]`` (long) is the
index of the sample that each token belongs to. A sample's tokens stay together in one micro-batch. A token of weight 0
takes part in nothing, whatever its other values are.
"""
