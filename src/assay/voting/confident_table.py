"""The constants of ``confident``, by k and delta, and what lies between them. Pure.

Computed beforehand by ``benchmarks/confident_calibration.py``, which prints the rows. Does not own: the test.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

DELTAS = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)

# fmt: off
Rows: TypeAlias = "dict[int, tuple[float, ...]]"

SCORES: Rows = {
    2: (0.001, 0.001, 1.248, 1.248, 1.248, 1.248, 1.248, 1.248, 1.248, 1.248, 1.248),
    3: (0.001, 1.099, 1.099, 1.099, 1.337, 1.600, 1.896, 2.050, 2.050, 2.050, 2.050),
    4: (0.001, 1.031, 1.031, 1.150, 1.328, 1.764, 2.261, 2.261, 2.261, 2.768, 2.769),
    5: (0.001, 0.990, 0.990, 1.065, 1.428, 1.920, 2.243, 2.433, 2.980, 2.979, 2.979),
    6: (0.001, 0.960, 0.960, 1.141, 1.465, 1.890, 2.128, 2.510, 3.160, 3.159, 3.648),
    7: (0.001, 0.937, 0.978, 1.192, 1.529, 1.872, 2.203, 2.647, 3.286, 3.318, 3.831),
    8: (0.001, 0.919, 0.951, 1.238, 1.603, 1.925, 2.261, 2.742, 3.191, 3.461, 3.996),
    9: (0.001, 0.904, 0.930, 1.269, 1.557, 1.903, 2.261, 2.628, 2.920, 3.386, 4.129),
    10: (0.001, 0.891, 0.912, 1.358, 1.523, 1.930, 2.308, 2.604, 3.005, 3.440, 3.846),
    12: (0.870, 0.870, 0.951, 1.356, 1.554, 1.950, 2.160, 2.494, 2.979, 3.240, 3.666),
    14: (0.853, 0.853, 0.984, 1.376, 1.582, 1.937, 2.160, 2.494, 2.788, 3.131, 3.484),
    16: (0.840, 0.848, 1.021, 1.383, 1.598, 1.903, 2.145, 2.411, 2.693, 3.021, 3.319),
    20: (0.818, 0.822, 1.066, 1.356, 1.633, 1.905, 2.142, 2.326, 2.638, 2.840, 3.057),
    24: (0.801, 0.803, 1.096, 1.371, 1.650, 1.917, 2.129, 2.312, 2.596, 2.775, 2.959),
    32: (0.776, 0.850, 1.128, 1.406, 1.647, 1.936, 2.125, 2.303, 2.529, 2.701, 2.861),
    48: (0.743, 0.918, 1.169, 1.453, 1.696, 1.981, 2.177, 2.359, 2.575, 2.729, 2.862),
    64: (0.721, 0.960, 1.178, 1.478, 1.727, 2.014, 2.213, 2.401, 2.611, 2.778, 2.915),
    96: (0.691, 1.000, 1.225, 1.523, 1.767, 2.052, 2.242, 2.441, 2.657, 2.838, 2.991),
    128: (0.719, 1.018, 1.248, 1.541, 1.782, 2.062, 2.272, 2.454, 2.679, 2.819, 3.041),
    256: (0.822, 1.068, 1.303, 1.601, 1.848, 2.141, 2.331, 2.533, 2.777, 2.940, 3.078),
}
BALLOTS: Rows = {
    2: (0.001, 0.001, 1.151, 1.151, 1.151, 1.151, 1.151, 1.151, 1.151, 1.151, 1.151),
    3: (0.001, 1.014, 1.014, 1.014, 1.404, 1.890, 1.890, 1.890, 1.890, 1.890, 1.890),
    4: (0.001, 0.951, 0.951, 1.159, 1.626, 1.627, 2.553, 2.553, 2.553, 2.552, 2.553),
    5: (0.001, 0.912, 0.912, 1.265, 1.506, 1.748, 2.168, 2.168, 2.383, 2.592, 2.777),
    6: (0.001, 0.885, 0.885, 1.433, 1.433, 1.991, 2.257, 2.672, 2.672, 2.672, 2.788),
    7: (0.001, 0.864, 0.908, 1.382, 1.490, 1.884, 1.965, 2.175, 2.440, 2.611, 2.807),
    8: (0.001, 0.847, 0.962, 1.344, 1.720, 1.810, 2.299, 2.407, 2.414, 2.865, 2.865),
    9: (0.001, 0.834, 1.009, 1.314, 1.615, 1.804, 2.182, 2.202, 2.418, 2.691, 2.754),
    10: (0.001, 0.822, 1.033, 1.289, 1.711, 2.044, 2.129, 2.315, 2.619, 2.619, 3.065),
    12: (0.803, 0.803, 1.069, 1.344, 1.646, 1.951, 2.128, 2.410, 2.456, 2.815, 2.834),
    14: (0.787, 0.787, 1.122, 1.384, 1.598, 1.954, 2.172, 2.305, 2.664, 2.674, 3.041),
    16: (0.774, 0.798, 1.197, 1.365, 1.621, 1.900, 2.144, 2.334, 2.559, 2.825, 2.896),
    20: (0.754, 0.852, 1.161, 1.455, 1.615, 1.938, 2.124, 2.325, 2.579, 2.712, 2.908),
    24: (0.739, 0.888, 1.134, 1.466, 1.678, 1.940, 2.129, 2.326, 2.596, 2.726, 2.968),
    32: (0.716, 0.942, 1.151, 1.423, 1.693, 1.956, 2.174, 2.312, 2.530, 2.686, 2.894),
    48: (0.685, 1.041, 1.184, 1.472, 1.699, 1.998, 2.172, 2.330, 2.555, 2.732, 2.886),
    64: (0.692, 1.011, 1.236, 1.523, 1.739, 1.997, 2.184, 2.368, 2.566, 2.718, 2.850),
    96: (0.753, 1.012, 1.239, 1.516, 1.749, 2.033, 2.211, 2.375, 2.604, 2.767, 2.921),
    128: (0.806, 1.033, 1.251, 1.537, 1.776, 2.041, 2.221, 2.394, 2.613, 2.746, 2.933),
    256: (0.875, 1.116, 1.323, 1.584, 1.832, 2.085, 2.284, 2.470, 2.687, 2.833, 2.959),
}
# fmt: on

_COARSE = 16
"""With fewer votes than this the error moves in steps, so that only the safer neighbour in the table will do."""
_GROWTH = 0.08
"""What doubling k adds beyond the table: somewhat more than between 64 and 256."""


@lru_cache(maxsize=4096)
def constant(k: int, delta: float, *, scored: bool) -> float:
    """The constant for ``k`` votes: of the safer of the two neighbours in k, and between deltas linear in the normal
    quantile of 1 - delta / 2. Infinite where so few votes cannot be so sure.

    Args:
        k: at least 1. delta: above 0. scored: votes give scores (``SCORES``), or only the differences count.
    """
    if k == 1:
        return math.inf
    rows = SCORES if scored else BALLOTS
    ks = sorted(rows)
    if k in rows:
        return _between(rows[k], k, delta)
    place = bisect_left(ks, k)
    if place < len(ks):
        return max(_between(rows[near], near, delta) for near in ks[place - 1 : place + 1])
    return _between(rows[ks[-1]], ks[-1], delta) + _GROWTH * math.log2(k / ks[-1])


def _between(row: tuple[float, ...], k: int, delta: float) -> float:
    if delta >= DELTAS[0]:
        return row[0]
    place = next((i for i, known in enumerate(DELTAS) if known <= delta), len(DELTAS))
    if k < _COARSE:
        return row[place] if place < len(row) else math.inf
    # Beyond the last, the slope is that of the last three: the constants of small deltas are the least exact ones.
    before, place = (place - 1, place) if place < len(row) else (len(row) - 3, len(row) - 1)
    low, high = _quantile(DELTAS[before]), _quantile(DELTAS[place])
    return row[place] + (row[place] - row[before]) * (_quantile(delta) - high) / (high - low)


def _quantile(delta: float) -> float:
    return NormalDist().inv_cdf(1 - delta / 2)
