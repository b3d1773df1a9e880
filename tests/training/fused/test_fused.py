"""The fused passes give the values and gradients of the model's own, and leave alone what they do not know."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, GemmaConfig, MistralConfig, PreTrainedConfig, Qwen3Config

from assay.training.config import TrainerConfig
from assay.training.fused import fuse, install, lay_out, plain
from assay.training.fused.linear import laid
from assay.training.objective import NllObjective
from assay.training.trainer import Trainer

from ..conftest import CONFIGS, SHAPE, batch, tiny

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.float32}
FAMILIES: dict[str, PreTrainedConfig] = {
    **CONFIGS,
    "mistral": MistralConfig(**SHAPE, sliding_window=5, head_dim=8),
    "qwen3": Qwen3Config(**SHAPE, head_dim=16),
}


def made(kind: str, dtype: str, **settings: Any) -> Trainer:
    """A trainer whose adapter, where it has one, changes something."""
    torch.manual_seed(0)
    lm = AutoModelForCausalLM.from_config(copy.deepcopy(FAMILIES[kind]), dtype=DTYPES[dtype])
    trainer = Trainer(TrainerConfig(dtype=dtype, lr=1e-3, **settings), model=lm)
    generator = torch.Generator().manual_seed(1)
    for name, p in trainer.policy.trained.items():
        if "lora_B" in name:
            p.data.copy_(torch.randn(p.shape, generator=generator) * 0.1)
    return trainer


def passed(trainer: Trainer) -> list[Tensor]:
    """Log-probs, and the gradient of every weight that is trained."""
    laid_out = trainer._passes.laid_out(batch().sequences, NllObjective())
    [(micro, columns)] = laid_out.parts
    with trainer._passes._precision():
        logprobs, entropy = trainer.policy.model(micro)
    NllObjective().loss(columns, logprobs, entropy).loss.backward()
    grads = [p.grad for p in trainer.policy.trained.values()]
    trainer._optimizer.forget_gradient()
    assert all(grad is not None for grad in grads)
    return [logprobs.detach(), *(grad for grad in grads if grad is not None)]


def is_fused(lm: nn.Module) -> bool:
    return any("forward" in module.__dict__ for module in lm.modules())


def off(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """The largest difference, as a share of the size of the value that it is in."""
    return max(float((a - b).norm() / b.norm()) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.parametrize("kind", FAMILIES)
def test_values_and_gradients_are_those_of_the_model_itself(kind: str, dtype: str, close: float, rank: int) -> None:
    trainer = made(kind, dtype, lora_rank=rank)
    assert is_fused(trainer.policy.lm)
    ours = passed(trainer)
    plain(trainer.policy.lm)
    assert not is_fused(trainer.policy.lm)
    assert off(ours, passed(trainer)) < close


def error(found: list[Tensor], exact: list[Tensor]) -> float:
    """Of all values together."""
    ours, theirs = (torch.cat([t.flatten() for t in each]).double() for each in (found, exact))
    return float((ours - theirs).norm() / theirs.norm())


@pytest.mark.parametrize("rank", [0, 4])
@pytest.mark.parametrize("kind", FAMILIES)
def test_half_precision_is_as_far_from_exact_as_that_of_the_model_itself(kind: str, rank: int) -> None:
    exact, trainer = passed(made(kind, "float32", lora_rank=rank)), made(kind, "bfloat16", lora_rank=rank)
    assert is_fused(trainer.policy.lm)
    ours = passed(trainer)
    plain(trainer.policy.lm)
    theirs = passed(trainer)
    for part in (slice(1), slice(1, None)):  # log-probs, gradients
        assert error(ours[part], exact[part]) < 1.6 * error(theirs[part], exact[part])


def test_weights_that_lie_apart_are_multiplied_one_by_one() -> None:
    trainer = made("qwen2", "float64", lora_rank=4)
    attention = trainer.policy.lm.model.layers[0].self_attn
    weights = [part.base_layer.weight for part in (attention.q_proj, attention.k_proj, attention.v_proj)]
    together = passed(trainer)
    assert [tuple(t.shape) for t in laid(weights)] == [(64, 32)]
    for p in trainer.policy.lm.parameters():
        p.data = p.data.clone()
    assert len(laid(weights)) == 3
    assert off(passed(trainer), together) < 1e-12
    lay_out(trainer.policy.lm)
    assert len(laid(weights)) == 1
    assert torch.equal(laid(weights)[0], torch.cat(weights))


@pytest.mark.parametrize("change", ["act_fn", "q_proj"])
def test_what_is_unusual_is_left_as_it_is(change: str) -> None:
    class Doubled(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return 2 * super().forward(input)

    lm = tiny()
    for layer in lm.model.layers:
        if change == "act_fn":
            layer.mlp.act_fn = nn.GELU()
        else:
            layer.self_attn.q_proj = Doubled(32, 32, bias=False)
    assert not is_fused(Trainer(TrainerConfig(), model=lm).policy.lm)


def test_other_families_are_left_as_they_are() -> None:
    torch.manual_seed(0)
    lm = AutoModelForCausalLM.from_config(GemmaConfig(**SHAPE, head_dim=8))
    trainer = Trainer(TrainerConfig(lr=1e-3), model=lm)
    assert not is_fused(trainer.policy.lm)
    trainer.step(batch(), NllObjective())


def test_a_layer_that_computes_something_else_fails_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = made("llama", "float32").policy.lm
    plain(lm)
    monkeypatch.setitem(install._PASSES, "MLP", lambda self, x: type(self).forward(self, x) * 1.01)  # pyright: ignore
    with pytest.warns(RuntimeWarning, match="it keeps its own, which are slower"):
        assert not fuse(lm)
    assert not is_fused(lm)


class Kernels(TorchDispatchMode):
    """Counts operations that are more than another view of a tensor, or its allocation."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += not (func.is_view or "empty" in str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("rank", "least"), [(0, 1.3), (4, 1.4)])
def test_an_update_takes_fewer_operations(rank: int, least: float) -> None:
    trainer = made("llama", "bfloat16", lora_rank=rank)
    counts: list[int] = []
    for _ in range(2):
        with Kernels() as kernels:
            passed(trainer)
        counts.append(kernels.count)
        plain(trainer.policy.lm)
    # On CUDA, where norms and attention are one kernel each, and in deeper models it is half and less.
    assert counts[1] > least * counts[0]


def test_where_nothing_can_be_compiled_the_passes_are_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        def layer(*_: Any, **__: Any) -> Tensor:
            raise RuntimeError("no compiler")

        return layer

    monkeypatch.setattr(install, "compiled_layer", broken)
    with pytest.warns(RuntimeWarning, match="no compiler"):
        trainer = made("llama", "float32", compile=True)
    assert "forward" in trainer.policy.lm.model.layers[0].mlp.__dict__
    assert "forward" not in trainer.policy.lm.model.layers[0].__dict__


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-6), ("bfloat16", 0.2)])
def test_compiled_layers_compute_the_same_and_compile_once_for_all_lengths(dtype: str, close: float) -> None:
    from torch._dynamo.utils import counters

    counters.clear()
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own
        trainer = made("llama", dtype, lora_rank=4, compile=True)
        ours = passed(trainer)
        graphs = counters["stats"]["unique_graphs"]
        for seed in range(1, 4):
            trainer.step(batch(seed, groups=2 + seed, longest=20), NllObjective(), lr=0.0)
    assert "forward" in trainer.policy.lm.model.layers[0].__dict__
    # Before attention and after it, each for states with and without a gradient: the first layer's have none.
    assert counters["stats"]["unique_graphs"] == graphs <= 4
    assert not counters["graph_break"]
    plain(trainer.policy.lm)
    assert off(ours, passed(trainer)) < close
