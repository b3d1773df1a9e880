"""One rank of the trainer, in an actor's process.

Owns the process group, and what a trainer is asked across processes. Does not own training (``training``), nor what the
ranks are asked together (``trainer``). Answers hold errors instead of raising them: Ray wraps what is raised.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.core import log as logs
from assay.core.errors import AssayError, StartError
from assay.core.types import Json
from assay.engines.feed import GROUP_ENVIRONMENT
from assay.engines.ray.cluster import own_address
from assay.engines.ray.letters import LOOPBACK
from assay.training.batch import PerToken, StepMetrics, TrainBatch, TrainSequence
from assay.training.config import TrainerConfig

from ..algorithm import AlgorithmConfig
from ..kl import kl_estimates
from .crew import Told, answered
from .rank_sends import Sends
from .stages import Course, Whereabouts, tail
from .store import Packed, pack, unpacked

if TYPE_CHECKING:
    from assay.training.objective import PolicyObjective
    from assay.training.trainer import Trainer

LEFT_BYTES = 512 << 20
"""What torch may still hold on a card while the trainer sleeps on it: less is noise, more was not given back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankOrders:
    """What a rank is to be. ``size`` 1: it trains, or only looks, alone."""

    rank: int
    size: int
    trainer: TrainerConfig
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    longest: int = 1
    """Most tokens of an answer."""
    threads: int | None = None
    """Of torch on the CPU; None leaves torch's own choice."""
    timeout_s: float = 3600.0
    """How long ranks wait for each other before they say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What is known of the weights after a call."""

    weight_version: str
    updates: int
    cards: bool
    """Whether they are on a GPU, and not on one that is simulated."""
    extra: Json = None


class RankHost(Sends):
    """See the module. One call at a time, but for those beside it: where it is, and that it shall stop sending."""

    def __init__(self, orders: RankOrders, log_level: str = "warning") -> None:
        super().__init__()
        logs.setup(log_level)
        self._course = Course()
        self._orders = orders
        self._trainer: Trainer | None = None
        self._objective: PolicyObjective | None = None

    def pid(self) -> Told:
        """Its process."""
        return Told(value=os.getpid())

    def whereabouts(self) -> Whereabouts:
        """How far its start is. Beside the call that is under way."""
        return self._course.told()

    def standing(self) -> tuple[str, str]:
        """Which calls it is in, and the end of its log. Beside the call that is under way."""
        return self._course.standing(), tail(self._course.told().log)

    def rendezvous(self, across: bool) -> Told:
        """Where the ranks can find each other, if this is the first one; ``across``: they are on several nodes."""
        host = own_address() if across else LOOPBACK
        with socket.socket() as probe:
            probe.bind((host, 0))
            return Told(value=f"tcp://{host}:{probe.getsockname()[1]}")

    def join(self, rendezvous: str | None) -> Told:
        """Meet the others and load the weights; the state."""
        return answered(lambda: self._join(rendezvous))

    def step(self, batch: TrainBatch) -> Told:
        """Train; metrics and state."""
        return answered(lambda: (self._step(batch), self._state()))

    def kl(self, sequences: Sequence[TrainSequence]) -> Told:
        return answered(lambda: kl_estimates(self._there(), sequences))

    def logprobs(self, sequences: Sequence[TrainSequence]) -> Told:
        """Of these weights, of every response token."""
        return answered(lambda: self._logprobs(sequences))

    def save(self, extra: Json) -> Told:
        return answered(lambda: self._there().save(extra=extra))

    def sleep(self) -> Told:
        """Off the card; the bytes that came free."""
        return answered(self._sleep)

    def wake(self) -> Told:
        """Onto the card; the bytes taken."""
        return answered(self._wake)

    def put(self) -> Told:
        """The weights in Ray's object store: its reference and their bytes, from the first rank."""
        return answered(self._put)

    def outline(self) -> Told:
        """Names and shapes of the weights."""
        return answered(lambda: self._there().outline())

    def export(self, folder: str) -> Told:
        """The weights as a folder, whole when this returns; their bytes."""
        return answered(lambda: self._export(Path(folder)))

    def take(self, packed: Packed, version: str) -> Told:
        """Take weights in the place of one's own (a rank that is alone, and trains nothing)."""
        return answered(lambda: self._take(packed, version))

    def asleep(self) -> Told:
        """Whether its weights are off the card."""
        return answered(lambda: self._there().asleep)

    def _join(self, rendezvous: str | None) -> State:
        self._course.enter("imports")
        # Cards are counted as nvidia-smi counts them; read when CUDA is first used.
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
        import torch
        from transformers.utils import logging as transformers_logging

        from assay.training.trainer import Trainer

        orders = self._orders
        if orders.threads is not None:
            torch.set_num_threads(orders.threads)
        # What an actor prints, Ray prints where the run is watched.
        transformers_logging.disable_progress_bar()
        # Ray shows each rank one card, which is its first.
        os.environ["LOCAL_RANK"] = "0"
        if rendezvous is not None:
            self._meet(rendezvous)
        self._trainer = Trainer(orders.trainer, enter=self._course.enter)
        self._objective = orders.algorithm.objective(orders.longest)
        self._course.enter("ready")
        return replace(self._state(), extra=self._trainer.extra)

    def _meet(self, rendezvous: str) -> None:
        """The process group of all ranks, tried out: what hangs in it is told from what hangs later."""
        import torch
        import torch.distributed as dist

        orders = self._orders
        cuda = orders.trainer.device != "cpu" and torch.cuda.is_available()
        if LOOPBACK in rendezvous:
            # By itself gloo asks for the address of this machine's name, which may be nobody's.
            os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback_interface())
        if cuda:
            self._course.enter("card")
            for name, value in GROUP_ENVIRONMENT.items():
                os.environ.setdefault(name, value)
            torch.cuda.set_device(0)
        self._course.enter("process group")
        try:
            dist.init_process_group(
                # Of weights that sleep in main memory, gloo makes wholes.
                "cpu:gloo,cuda:nccl" if cuda else "gloo",
                init_method=rendezvous,
                rank=orders.rank,
                world_size=orders.size,
                timeout=timedelta(seconds=orders.timeout_s),
            )
            for device in ("cpu", "cuda") if cuda else ("cpu",):
                self._course.enter("first sum by NCCL" if device == "cuda" else "first sum by gloo")
                one = torch.ones(1, device=device)
                dist.all_reduce(one)
                # Reading it waits for it.
                if one.item() != orders.size:
                    raise StartError(f"rank {orders.rank}: {orders.size} ranks add up to {one.item():g} on {device}")
        except (RuntimeError, ValueError) as error:
            raise StartError(f"rank {orders.rank} did not meet the others at {rendezvous}: {error}") from error

    def _step(self, batch: TrainBatch) -> StepMetrics:
        assert self._objective is not None
        return self._there().step(batch, self._objective)

    def _logprobs(self, sequences: Sequence[TrainSequence]) -> list[PerToken]:
        return self._there().logprobs(sequences) if sequences else []

    def _sleep(self) -> int:
        before = _held()
        self._there().sleep()
        after = _held()
        if before and after > LEFT_BYTES:
            raise AssayError(
                f"rank {self._orders.rank} of the trainer sleeps and still holds {after / 2**30:.2f} GiB of its card "
                f"(before: {before / 2**30:.2f} GiB)"
            )
        return max(0, before - after)

    def _wake(self) -> int:
        before = _held()
        self._there().wake()
        return max(0, _held() - before)

    def _put(self) -> tuple[list[Any], int] | None:
        import ray

        trainer = self._there()
        packed: Packed = {}
        # Every rank has to go through them all: each is whole for a moment, on all.
        for name, tensor in trainer.named_tensors():
            if trainer.ranks.first:
                packed[name] = pack(tensor)
        if not trainer.ranks.first:
            return None
        # In a list, so that Ray hands over the reference and not what it stands for.
        return [ray.put(packed)], sum(data.nbytes for _, _, data in packed.values())

    def _export(self, folder: Path) -> int:
        self._there().export(folder)
        return sum(path.stat().st_size for path in folder.glob("*.safetensors")) if self._orders.rank == 0 else 0

    def _take(self, packed: Packed, version: str) -> str:
        from assay.engines.embedded.loading import copy_weights

        lm: Any = self._there().policy.lm
        copy_weights(lm, unpacked(packed), version)
        return version

    def _state(self) -> State:
        trainer = self._there()
        cards = trainer.policy.device.type == "cuda"
        return State(weight_version=trainer.weight_version, updates=trainer.updates, cards=cards)

    def trainer(self) -> Trainer:
        return self._there()

    def _there(self) -> Trainer:
        if self._trainer is None:
            raise AssayError(f"rank {self._orders.rank} of the trainer has not joined the others")
        return self._trainer


def _loopback_interface() -> str:
    """As this machine calls it."""
    names = [name for _, name in socket.if_nameindex()]
    return "lo" if "lo" in names else next((name for name in names if name.startswith("lo")), "lo")


def _held() -> int:
    """Bytes that torch holds on the card; 0 without one."""
    import torch

    return int(torch.cuda.memory_reserved()) if torch.cuda.is_available() else 0
