"""Who runs on which GPUs, decided and checked before anything starts. Pure: numbers in, a plan out."""

from .cluster import CARDS, GIB, Card, Cluster, parse_cluster
from .flags import PlacementFlags
from .plan import Claim, Kind, Mode, Phase, PhaseKind, Plan
from .planner import dump_plan, load_plan, place

__all__ = [
    "CARDS",
    "GIB",
    "Card",
    "Claim",
    "Cluster",
    "Kind",
    "Mode",
    "Phase",
    "PhaseKind",
    "PlacementFlags",
    "Plan",
    "dump_plan",
    "load_plan",
    "parse_cluster",
    "place",
]
