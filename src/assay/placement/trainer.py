"""Bytes of the trainer: sharded states, what is gathered, activations. FSDP2 over the actor's GPUs.

A parameter that is trained takes 16 bytes over all ranks: 32-bit master weight, gradient and Adam's two moments.
"""

from __future__ import annotations

from .job import Training
from .model import ModelShape

MASTER, GRADIENT, ADAM = 4, 4, 8


def trained_parameters(shape: ModelShape, training: Training) -> int:
    """Parameters with a gradient: all, or the adapters' ``rank * (in + out)``."""
    return shape.parameters if training.lora_rank is None else training.lora_rank * shape.linear_io


def awake_bytes(shape: ModelShape, training: Training, ranks: int) -> dict[str, int]:
    """Bytes by part on each GPU while it trains."""
    width = 2 if training.dtype == "bf16" else 4
    trained = trained_parameters(shape, training)
    frozen = 0 if training.lora_rank is None else shape.parameters * width
    return {
        "weights": (frozen + MASTER * trained) // ranks,
        "gradients": GRADIENT * trained // ranks,
        "optimizer": ADAM * trained // ranks,
        "gathered": _gathered(shape, width, ranks),
        "activations": _activations(shape, training, width),
    }


def states_bytes(shape: ModelShape, training: Training) -> int:
    """Bytes of all ranks that a sleeping actor keeps on the hosts: weights and moments; gradients are let go."""
    width = 2 if training.dtype == "bf16" else 4
    frozen = 0 if training.lora_rank is None else shape.parameters * width
    return frozen + (MASTER + ADAM) * trained_parameters(shape, training)


def reference_bytes(shape: ModelShape, training: Training, ranks: int) -> int:
    """Bytes on each GPU of the reference policy; with adapters it is the policy without them."""
    return 0 if training.lora_rank is not None else 2 * shape.parameters // ranks


def _gathered(shape: ModelShape, width: int, ranks: int) -> int:
    """Two layers at a time (the one at work and the next), and the embeddings, whole on each GPU."""
    if ranks == 1:
        # Nothing is sharded, but 16-bit copies of 32-bit master weights are made just so.
        return 0 if width == 4 else _unit(shape, width)
    return _unit(shape, width)


def _unit(shape: ModelShape, width: int) -> int:
    embeddings = shape.vocab * shape.hidden
    layer = max(0, shape.parameters - 2 * embeddings) // shape.layers
    return int(width * (2 * layer + embeddings))


def _activations(shape: ModelShape, training: Training, width: int) -> int:
    """Inputs of every layer, the inside of one (of all without checkpointing), 32-bit logits and their gradient."""
    tokens = training.micro_batch_tokens
    inside = 6 * shape.hidden + 2 * shape.query + 2 * shape.key_value + 3 * shape.mlp
    kept = shape.layers * shape.hidden + inside if training.checkpointing else shape.layers * inside
    return tokens * (width * kept + 2 * 4 * shape.vocab)
