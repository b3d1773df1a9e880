"""Settings of the trainer, named as the run scripts of Relax and slime name them. Importable without torch."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from assay.core.config import Config

from .saving import SavingConfig
from .schedule import Decay


class ModelConfig(Config):
    """Which weights are trained, and how they are computed with."""

    hf_checkpoint: str = Field(default="smollm2-135m-instruct", min_length=1)
    """The policy to start from: the bundled model, a folder with config.json and safetensors, or a hub name."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """``auto`` is CUDA where there is one; with several ranks, the device of the local rank."""
    dtype: Literal["auto", "float32", "bfloat16", "float64"] = "auto"
    """Of the computation. Trained weights and optimizer state are kept in float32 under bfloat16. ``auto`` is float32
    on the CPU and bfloat16 on CUDA."""
    trust_remote_code: bool = False
    """Run the Python code that comes with the model. Only for a model whose author you trust."""

    lora_rank: int = Field(default=0, ge=0)
    """Rank of a LoRA adapter on every linear layer but the head; 0 trains all weights."""
    lora_alpha: int | None = Field(default=None, gt=0)
    """The adapter is scaled by alpha / rank; None is twice the rank."""
    gradient_checkpointing: bool = False
    """Recompute each layer's activations in the backward pass instead of keeping them."""
    max_tokens_per_micro_batch: int = Field(default=4096, ge=1)
    """Most packed tokens that go through the model at once, on one device. A longer sample goes alone."""
    share_prompts: bool = True
    """Compute a prompt once for all the responses to it that are in one micro-batch."""
    compile: bool = False
    """Compile the layers, but for their attention, by torch.compile, which takes a minute or so. Where that fails, and
    without it, layers of Llama and Qwen models run fused by hand."""


class OptimizerConfig(Config):
    """How an update is made out of gradients."""

    optimizer: Literal["adam"] = "adam"
    """AdamW: the weight decay is decoupled, and spares one-dimensional weights (norms, biases)."""
    lr: float = Field(default=1e-6, gt=0)
    """The highest learning rate."""
    min_lr: float = Field(default=0.0, ge=0)
    """The rate at which a decay ends."""
    lr_decay_style: Decay = "constant"
    """How the rate falls after the warm-up."""
    lr_warmup_iters: int = Field(default=0, ge=0)
    """Updates over which the rate rises to ``lr``."""
    lr_decay_iters: int | None = Field(default=None, ge=1)
    """The update at which a decay ends."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Of AdamW."""
    adam_beta1: float = Field(default=0.9, ge=0, lt=1)
    """Of AdamW."""
    adam_beta2: float = Field(default=0.999, ge=0, lt=1)
    """Of AdamW."""
    adam_eps: float = Field(default=1e-8, gt=0)
    """Of AdamW."""
    clip_grad: float = Field(default=1.0, ge=0)
    """The gradient is scaled down to this norm; 0 leaves it as it is."""

    @model_validator(mode="after")
    def _rates(self) -> Self:
        if self.lr_decay_iters is not None and self.lr_warmup_iters >= self.lr_decay_iters:
            told = f"lr_decay_iters {self.lr_decay_iters}"
            raise ValueError(f"lr_warmup_iters {self.lr_warmup_iters} must be below {told}")
        if self.min_lr > self.lr:
            raise ValueError(f"min_lr {self.min_lr} is above lr {self.lr}")
        return self


class TuningConfig(ModelConfig, OptimizerConfig, SavingConfig):
    """Which weights are trained and how, whatever is learned."""

    seed: int = 1234
    """Of everything random here: how a LoRA adapter begins, and what training draws, such as dropout."""


class CheckpointConfig(SavingConfig):
    """Where checkpoints go, and where they come from."""

    save: str | None = Field(default=None, min_length=1)
    """Folder of the checkpoints."""
    load: str | None = Field(default=None, min_length=1)
    """A checkpoint, or a folder of checkpoints of which the last is taken."""


class TrainerConfig(TuningConfig, CheckpointConfig):
    """The settings of a trainer: what is tuned, against which reference, and where checkpoints go."""

    ref_load: str | None = None
    """The frozen reference of the KL term; None takes ``hf_checkpoint``."""
    reference: Literal["auto", "none", "adapter", "copy", "offload"] = "auto"
    """Where the reference's weights are: the policy without its ``adapter``, a ``copy`` on the device, or a copy that
    stays in main memory until it is needed (``offload``). ``auto``: adapter where there is one, else copy. It is
    loaded when it is first asked for."""
    temperature: float = Field(default=1.0, gt=0)
    """Log-probs are those of logits divided by it: the temperature of the rollouts."""
    global_batch_size: int | None = Field(default=None, ge=1)
    """Samples in one optimizer update; a rollout batch is cut into as many updates as come nearest. None: one."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lr_decay_style != "constant" and self.lr_decay_iters is None:
            raise ValueError(f"lr_decay_style {self.lr_decay_style!r} needs lr_decay_iters: when does the decay end?")
        if self.reference == "adapter" and not self.lora_rank:
            raise ValueError("reference 'adapter' needs an adapter: set lora_rank")
        if self.reference == "adapter" and self.ref_load not in (None, self.hf_checkpoint):
            raise ValueError(f"reference 'adapter' is hf_checkpoint itself; ref_load {self.ref_load!r} needs 'copy'")
        return self
