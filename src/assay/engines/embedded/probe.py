"""The proof, at load, that packed attention computes this very model: logits beside those of its own attention.

What packed attention cannot do (states that are no keys and values, sinks, shared layers, …) shows here, before any
request.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from assay.core.errors import StartError

from .attention import PACKED, UnsupportedAttentionError, register
from .forward import Runner, forward
from .kv import Banks, KvShape
from .rows import Rows
from .spans import Span, SpanPlan

_TOLERANCE = {torch.float32: 0.01}
_HALF_TOLERANCE = 0.5
"""Natural-log units. Half precision rounds differently in every order of summation; a wrong mask is off by more."""

_LENGTH = 24
_FIX = "serve this model with another engine (kind openai)"


class _Shapes:
    """Attends like one causal span, and notes what each layer keeps."""

    def __init__(self, ids: list[int], unknown: KvShape) -> None:
        self.seen: dict[int, tuple[int, int, int]] = {}
        self._plan = SpanPlan([Span(ids, (), keep=False)], unknown)

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, scale: float | None, window: int | None
    ) -> Tensor:
        self.seen[layer] = (key.shape[0], key.shape[2], value.shape[2])
        return self._plan.attend(layer, query, key, value, scale, window)


def adopt(model: Any, name: str) -> Runner:
    """Switch a model to packed attention and check that it still computes the same.

    Raises:
        StartError: it does not; the message says what stands in the way.
    """
    device, dtype = model.device, model.dtype
    vocabulary = cast("int", model.get_input_embeddings().weight.shape[0])
    ids = [(7919 * i + 13) % vocabulary for i in range(_LENGTH)]
    with torch.inference_mode():
        expected = model(input_ids=torch.tensor([ids], device=device), use_cache=False).logits[0].float()
        register()
        model.set_attn_implementation(PACKED)
        try:
            runner = Runner(model, _shape(model, ids, dtype))
            found = _packed(runner, ids)
        except (UnsupportedAttentionError, RuntimeError, TypeError, KeyError) as error:
            raise StartError(f"the embedded engine cannot run {name!r}: {error}; {_FIX}") from error
        off = max(_distance(logits, expected[place]) for place, logits in found.items())
    if off > _TOLERANCE.get(dtype, _HALF_TOLERANCE):
        raise StartError(
            f"the embedded engine cannot run {name!r}: its log-probs differ by {off:.3g} from the model's own; {_FIX}"
        )
    return runner


def _shape(model: Any, ids: list[int], dtype: torch.dtype) -> KvShape:
    unknown = KvShape(layers=0, heads=0, dim=0, dtype=dtype, device=model.device)
    shapes = _Shapes(ids, unknown)
    forward(model, model.device, ids, range(len(ids)), shapes, [len(ids) - 1])
    layers = cast("int", model.config.get_text_config().num_hidden_layers)
    kinds = set(shapes.seen.values())
    if sorted(shapes.seen) != list(range(layers)) or len(kinds) != 1:
        raise UnsupportedAttentionError(f"not all of its {layers} layers keep the same keys and values")
    heads, dim, value_dim = kinds.pop()
    if dim != value_dim:
        raise UnsupportedAttentionError(f"its keys have {dim} dimensions, its values {value_dim}")
    return KvShape(layers=layers, heads=heads, dim=dim, dtype=dtype, device=model.device)


def _packed(runner: Runner, ids: list[int]) -> dict[int, Tensor]:
    """The logits after some of ``ids``, computed in two spans beside a stranger, then one decoding step of two rows."""
    half, last = len(ids) // 2, len(ids) - 1
    (a, _), (first, stranger) = runner.spans([Span(ids[:half], ()), Span(ids[3:9], ())], [1, 0])
    known = [slab for slab in (first, stranger) if slab is not None]
    (_, b), (_, second) = runner.spans([Span(ids[:5], (), keep=False), Span(ids[half:last], known[:1])], [0, 1])
    banks = Banks(runner.shape)
    seat = banks.seat([known[0], cast("Tensor", second)])
    banks.seat(known[1:])
    c = runner.decode([Rows(seat.bank, 0, 2)], [ids[last], ids[0]])
    return {half - 1: a[0], last - 1: b[0], last: c[0]}


def _distance(found: Tensor, expected: Tensor) -> float:
    likely = expected.topk(min(10, expected.shape[0])).indices
    difference = found.log_softmax(-1)[likely] - expected.log_softmax(-1)[likely]
    return float(difference.abs().max())
