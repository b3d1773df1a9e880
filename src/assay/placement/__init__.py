"""Who runs on which GPUs, decided and checked before anything starts. Pure: numbers in, a plan out."""

from .cluster import CARDS, GIB, Card, Cluster, parse_cluster
from .flags import PlacementFlags
from .forecast import Advice, Memory, MemoryRow, Option, Prediction, Span
from .job import EngineRate, Job, JudgeLoad, Rates, Training, Workload
from .measured import measured_rates, measured_workload
from .model import ModelShape, read_shape
from .planner import dump_plan, load_plan, place
from .planning import make_job, plan
from .plans import Claim, Kind, Mode, Phase, PhaseKind, PlacementPlan

__all__ = [
    "CARDS",
    "GIB",
    "Advice",
    "Card",
    "Claim",
    "Cluster",
    "EngineRate",
    "Job",
    "JudgeLoad",
    "Kind",
    "Memory",
    "MemoryRow",
    "Mode",
    "ModelShape",
    "Option",
    "Phase",
    "PhaseKind",
    "PlacementFlags",
    "PlacementPlan",
    "Prediction",
    "Rates",
    "Span",
    "Training",
    "Workload",
    "dump_plan",
    "load_plan",
    "make_job",
    "measured_rates",
    "measured_workload",
    "parse_cluster",
    "place",
    "plan",
    "read_shape",
]
