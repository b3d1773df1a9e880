"""A LoRA adapter in peft's layout, read without torch: what it says, and whether it fits a model.

A folder with ``adapter_config.json`` and ``adapter_model.safetensors``, as ``training.adapter`` and peft write it; a
``card.json`` may be beside them. What would change more than W + scale x B A of linear layers is refused by name.
Does not own: the sum itself (``merging``), which adapter is taken (``shipped``).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import InputError

from ..model_files import Shapes, base_sha256, state_sha256, tensor_shapes, weight_files
from .adapter_card import AdapterCard, read_card

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
PREFIX = "base_model.model."
"""What peft puts before the name of every layer."""
_KEY = re.compile(rf"{re.escape(PREFIX)}(.+)\.lora_([AB])\.weight")

_PLAIN: Mapping[str, Any] = {"bias": "none", "fan_in_fan_out": False, "peft_type": "LORA"}
"""Settings that must have this value, where they are there."""
_HARMLESS = frozenset(
    [
        "task_type",
        "auto_mapping",
        "peft_version",
        "base_model_name_or_path",
        "revision",
        "inference_mode",
        "r",
        "lora_alpha",
        "lora_dropout",
        "target_modules",
        "exclude_modules",
        "use_rslora",
        "init_lora_weights",
        "loftq_config",
        "eva_config",
        "corda_config",
        "lora_ga_config",
        "megatron_core",
        "qalora_group_size",
        "ensure_weight_tying",
    ]
)
"""Settings that are read here, or that say how it was trained and not what it computes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """An adapter. ``layers``: the linear layers that it changes, by name, with their (out, in).

    ``digest``: SHA-256 of its numbers, its scale and the names that they go by.
    """

    name: str
    path: Path
    rank: int
    scale: float
    targets: str | tuple[str, ...]
    excluded: tuple[str, ...]
    layers: Mapping[str, tuple[int, int]]
    digest: str
    base: str
    """The model that it says it was trained on."""
    card: AdapterCard | None

    @property
    def identity(self) -> str:
        """Name and digest: what records say."""
        return f"{self.name}@{self.digest[:12]}"


def read_lora(folder: Path, name: str | None = None) -> Lora:
    """The adapter in a folder; its name is the card's, or that of the folder, unless given.

    Raises:
        InputError: a file is missing or wrong, or the adapter is of a kind that cannot be merged into linear layers.
    """
    missing = [what for what in (SETTINGS, WEIGHTS) if not (folder / what).is_file()]
    if missing:
        raise InputError(
            f"adapter {str(folder)!r} has no {' and no '.join(missing)}; save it with peft, as safetensors"
        )
    if len(weight_files(folder)) > 1:
        raise InputError(f"adapter {str(folder)!r} has other safetensors files beside {WEIGHTS}; move them away")
    said = _settings(folder)
    layers, rank = _layers(folder, tensor_shapes(folder))
    if said["r"] != rank:
        raise InputError(f"adapter {str(folder)!r}: its settings say rank {said['r']!r}, its weights have rank {rank}")
    root = math.sqrt(rank) if said.get("use_rslora") else rank
    scale = float(said["lora_alpha"]) / root
    card = read_card(folder)
    state = hashlib.sha256(f"{scale!r} {state_sha256([folder / WEIGHTS])}".encode())
    targets = said["target_modules"]
    return Lora(
        name=name or (folder.resolve().name if card is None else card.name),
        path=folder,
        rank=rank,
        scale=scale,
        targets=targets if isinstance(targets, str) else tuple(targets),
        excluded=_names(said.get("exclude_modules")),
        layers=layers,
        digest=state.hexdigest(),
        base=str(said.get("base_model_name_or_path") or ""),
        card=card,
    )


def check_base(lora: Lora, model: str, path: Path) -> None:
    """Whether the model's weights in ``path`` are those that the adapter's card names.

    Raises:
        InputError: they are others; the message names both.
    """
    if lora.card is None:
        return
    theirs, ours = lora.card.base.state_sha256, base_sha256(path)
    if theirs != ours:
        raise InputError(
            f"adapter {lora.name!r} belongs to {lora.card.base.model!r} with weights {theirs[:12]} "
            f"({lora.card.base.source}); model {model!r} in {str(path)!r} has weights {ours[:12]}. "
            "Take that model, or --adapter none"
        )


def check_fits(lora: Lora, linears: Mapping[str, tuple[int, int]], model: str) -> None:
    """Whether the adapter changes all the linear layers that its settings name, and no other, in their shapes.

    Args:
        linears: the linear layers of the model, by name, with their (out, in).

    Raises:
        InputError: names the first layer that is wrong.
    """
    wanted = {name for name in linears if _hits(name, lora.targets) and not _hits(name, lora.excluded)}
    for name in sorted(wanted | set(lora.layers)):
        if name not in linears:
            raise _misfit(lora, model, f"the model has no linear layer {name!r}")
        if name not in lora.layers:
            raise _misfit(lora, model, f"its settings name the layer {name!r}, and it has no weights for it")
        if name not in wanted:
            raise _misfit(lora, model, f"it has weights for the layer {name!r}, which its settings do not name")
        if lora.layers[name] != linears[name]:
            raise _misfit(lora, model, f"layer {name!r} is {linears[name]} there and {lora.layers[name]} here")


def _misfit(lora: Lora, model: str, why: str) -> InputError:
    base = f" (it was trained on {lora.base!r})" if lora.base else ""
    return InputError(f"adapter {lora.name!r} does not fit model {model!r}: {why}{base}")


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / SETTINGS
    try:
        said = json.loads(file.read_text("utf-8"))
        number = said["r"], float(said["lora_alpha"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{str(file)!r} holds no settings of a LoRA adapter: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(number[0], int) or number[0] < 1 or not math.isfinite(number[1]):
        raise InputError(f"{str(file)!r}: r must be 1 or more and lora_alpha a number, got {number}")
    if not said.get("target_modules"):
        raise InputError(f"{str(file)!r}: target_modules names no layers")
    for key, value in said.items():
        plain = value == _PLAIN[key] if key in _PLAIN else key in _HARMLESS or not value
        if not plain:
            raise InputError(
                f"{str(file)!r}: {key} = {value!r:.80} is more than a plain LoRA of linear layers; merge it with peft "
                "(merge_and_unload) and name the merged folder as the model"
            )
    return said


def _layers(folder: Path, shapes: Shapes) -> tuple[dict[str, tuple[int, int]], int]:
    """(out, in) of each layer, and the rank, which all share."""
    parts: dict[str, dict[str, tuple[int, ...]]] = {}
    for key, shape in shapes.items():
        found = _KEY.fullmatch(key)
        if found is None or len(shape) != 2:
            raise InputError(f"adapter {str(folder)!r}: {key!r} {shape} is no weight of a LoRA of a linear layer")
        parts.setdefault(found[1], {})[found[2]] = shape
    layers: dict[str, tuple[int, int]] = {}
    ranks: set[int] = set()
    for name, pair in sorted(parts.items()):
        if set(pair) != {"A", "B"}:
            raise InputError(
                f"adapter {str(folder)!r}: layer {name!r} has {' and '.join(pair)}, and needs both A and B"
            )
        if pair["A"][0] != pair["B"][1]:
            raise InputError(
                f"adapter {str(folder)!r}: layer {name!r}: A {pair['A']} and B {pair['B']} do not multiply"
            )
        layers[name] = (pair["B"][0], pair["A"][1])
        ranks.add(pair["A"][0])
    if len(ranks) != 1:
        raise InputError(f"adapter {str(folder)!r}: its layers must share one rank, got {sorted(ranks)}")
    return layers, ranks.pop()


def _names(said: Any) -> tuple[str, ...]:
    return (said,) if isinstance(said, str) else tuple(said or ())


def _hits(layer: str, names: str | Sequence[str]) -> bool:
    """As peft takes target_modules: a text is a pattern of the whole name, a list holds ends of names."""
    if isinstance(names, str):
        return re.fullmatch(names, layer) is not None
    return any(layer == name or layer.endswith(f".{name}") for name in names)
