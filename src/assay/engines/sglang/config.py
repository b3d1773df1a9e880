"""Settings of the sglang engine. Nothing here needs SGLang or torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from assay.core.config import Config


class SGLangConfig(Config):
    """One SGLang server that this process launches and owns.

    An option that is not named here is taken as an argument of SGLang itself (see ``arguments``); one that the
    installed version does not know is refused by name when the engine starts.
    """

    kind: Literal["sglang"] = "sglang"
    model: str = Field(min_length=1)
    """A folder with config.json and safetensors, or a hub name (downloaded first, by SGLang's interpreter)."""
    python: str | None = None
    """The interpreter that has SGLang in it; None is this one. SGLang's pins clash with most others, so it usually has
    an environment of its own. Another interpreter does not inherit PYTHONPATH; ``env`` can set it."""

    num_gpus: int = Field(default=1, ge=1)
    """GPUs of this engine, on all its nodes together: tp_size x pp_size x dp_size."""
    tp_size: int | None = Field(default=None, ge=1)
    """None: what ``num_gpus`` leaves after pp_size and dp_size."""
    pp_size: int = Field(default=1, ge=1)
    dp_size: int = Field(default=1, ge=1)
    ep_size: int = Field(default=1, ge=1)
    gpu_ids: tuple[int | str, ...] | None = None
    """GPUs of this node by their index in ``nvidia-smi`` or by UUID; None: the first ones that CUDA_VISIBLE_DEVICES
    names, or that there are."""
    nnodes: int = Field(default=1, ge=1)
    node_rank: int = Field(default=0, ge=0)
    """The engine of rank 0 answers requests; those of the other ranks only lend their GPUs. Start all ranks at the same
    time: each waits for the others."""
    dist_init_addr: str | None = None
    """host:port of rank 0, for an engine of several nodes."""

    mem_fraction_static: float | None = Field(default=None, gt=0, lt=1)
    """Share of each card for weights and KV cache. SGLang itself reads it as a share of the memory that is free when it
    starts; it is converted, and what the engine then takes is measured. None: SGLang's own choice."""
    max_context_len: int | None = Field(default=8192, ge=16)
    """Most tokens of prompt and reply together; the model's own limit caps it. None: the model's own."""
    memory_saver: bool = True
    """Needed to sleep."""
    weights_cpu_backup: bool = True
    """Keep the weights in main memory while asleep; without it they are read from disk again on waking."""
    backups_on_host: int = Field(default=1, ge=1)
    """Engines with a backup of these weights that share this machine; the check of main memory counts them all."""
    check_host_memory: bool = True
    """Refuse to start when main memory cannot hold the backups."""
    deterministic: bool = False
    """SGLang's deterministic inference: equal request and seed, equal text, whatever else runs. Slower. Without it
    seeds have no effect, and completions carry none."""
    reasoning_parser: str | None = None
    """SGLang's parser of thinking, e.g. ``qwen3``. Thinking comes back in the text, between think marks."""
    regex: str | None = None
    """Constrains every reply. SGLang ignores it while a model thinks, so such requests are refused."""
    json_schema: dict[str, Any] | None = None
    """As ``regex``, with a JSON schema."""
    trust_remote_code: bool = False
    """Run the Python code that comes with the model. Only for a model whose author you trust."""
    weight_version: str | None = None
    """Names the weights in records and cache keys; None: a hash of them."""
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Further arguments of SGLang, by their names there, e.g. ``{"max_running_requests": 64}``."""

    port: int = Field(default=0, ge=0, le=65535)
    """On the loopback interface; 0 takes any free port."""
    attach: int | None = Field(default=None, ge=1, le=65535)
    """Port of the loopback interface where somebody else runs a server with weights of this shape: it gets requests and
    new weights; nothing is launched, put to sleep or ended, and what is about the launch has no effect."""
    env: dict[str, str] = Field(default_factory=dict[str, str])
    """Environment variables of the server, over those of this process."""
    log_file: Path | None = None
    """Where the server's own log goes; None: a new file in the folder for temporary files."""
    start_timeout_s: float = Field(default=900, gt=0)
    drain_s: float = Field(default=30, ge=0)
    """How long running requests may take to end before the engine sleeps or takes new weights; then it aborts them."""
    control_timeout_s: float = Field(default=120, gt=0)
    """Most seconds for one control call (release, resume, update); past it the engine counts as lost."""
    hang_s: float = Field(default=20, gt=0)
    """A scheduler that has not answered for so long counts as hung."""
    stop_s: float = Field(default=5, ge=0)
    """How long the server may take to end by itself before it is killed."""

    @model_validator(mode="before")
    @classmethod
    def _others_are_arguments(cls, options: Any) -> Any:
        if not isinstance(options, dict):
            return options
        others = {key: value for key, value in options.items() if key not in cls.model_fields}
        if not others or not isinstance(given := options.get("arguments", {}), dict):
            return options
        if twice := sorted(others.keys() & given.keys()):
            raise ValueError(f"{twice} are given twice: beside arguments and in them")
        own = {key: value for key, value in options.items() if key in cls.model_fields}
        return own | {"arguments": given | others}

    @field_validator("gpu_ids")
    @classmethod
    def _distinct(cls, ids: tuple[int | str, ...] | None) -> tuple[int | str, ...] | None:
        if ids is not None and len({str(one) for one in ids}) != len(ids):
            raise ValueError("names a GPU twice")
        return ids

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.regex is not None and self.json_schema is not None:
            raise ValueError("regex and json_schema both constrain the reply; give one")
        if self.weights_cpu_backup and not self.memory_saver and "weights_cpu_backup" in self.model_fields_set:
            raise ValueError("weights_cpu_backup needs memory_saver")
        if self.num_gpus % self.nnodes:
            raise ValueError(f"num_gpus={self.num_gpus} does not divide by nnodes={self.nnodes}")
        if self.gpu_ids is not None and len(self.gpu_ids) != self.gpus_here:
            raise ValueError(f"gpu_ids names {len(self.gpu_ids)} GPUs, this node of the engine has {self.gpus_here}")
        if self.node_rank >= self.nnodes:
            raise ValueError(f"node_rank={self.node_rank} is not below nnodes={self.nnodes}")
        if self.nnodes > 1 and self.dist_init_addr is None:
            raise ValueError("an engine of several nodes needs dist_init_addr, host:port of its rank 0")
        self.tensor_parallel()
        return self

    @property
    def gpus_here(self) -> int:
        """GPUs on this node."""
        return self.num_gpus // self.nnodes

    @property
    def backed_up(self) -> bool:
        """Whether sleeping keeps the weights in main memory."""
        return self.memory_saver and self.weights_cpu_backup

    def tensor_parallel(self) -> int:
        """The size of tensor parallelism. Raises ValueError when the sizes do not make ``num_gpus``."""
        # With DP attention the data-parallel ranks share the GPUs of tensor parallelism instead of multiplying them.
        dp = 1 if self.arguments.get("enable_dp_attention") else self.dp_size
        tp = self.tp_size or max(1, self.num_gpus // (self.pp_size * dp))
        if tp * self.pp_size * dp != self.num_gpus:
            sizes = f"tp_size={tp} x pp_size={self.pp_size} x dp_size={dp} is {tp * self.pp_size * dp}"
            raise ValueError(f"{sizes}, and num_gpus={self.num_gpus}; the sizes must multiply to it")
        for name, size in (("ep_size", self.ep_size), ("dp_size", self.dp_size if dp == 1 else 1)):
            if tp % size:
                raise ValueError(f"tp_size={tp} does not divide by {name}={size}")
        return tp
