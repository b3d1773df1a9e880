"""What a ``config.json`` says about a model's size: parameters, those active for a token, bytes of cache a token.

Counts Llama- and Qwen-like decoders: grouped-query attention, gated MLP, tied embeddings, routed and shared experts.
A configuration may name ``num_parameters`` and ``num_active_parameters`` itself; they win over the count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from assay.core.errors import InputError

BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "float8_e4m3fn": 1.0}
_QUANTISED = {"fp8": 1.0, "compressed-tensors": 1.0, "awq": 0.5, "gptq": 0.5, "mxfp4": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Sizes of one decoder.

    ``parameters``: all; ``active``: those that one token meets (fewer with experts). ``linear_io``: sum of inputs and
    outputs of the linear maps of all layers, by which an adapter's size grows with its rank; experts are not adapted.
    ``weight_bytes``: of one parameter as it is stored and served.
    """

    name: str
    parameters: int
    active: int
    layers: int
    attention_layers: int
    hidden: int
    query: int
    kv_heads: int
    head: int
    mlp: int
    vocab: int
    linear_io: int
    weight_bytes: float

    @property
    def stored(self) -> int:
        """Bytes of the weights as served."""
        return int(self.parameters * self.weight_bytes)

    @property
    def key_value(self) -> int:
        """Width of the keys, and of the values, of one layer."""
        return self.kv_heads * self.head

    def cache_bytes(self, engine_gpus: int = 1) -> int:
        """Bytes of KV cache (16 bit) that a token takes on each GPU of an engine; no GPU has less than one head."""
        heads = -(-self.kv_heads // engine_gpus)
        return 2 * self.attention_layers * heads * self.head * 2

    def attention_flops(self, context: float) -> float:
        """Operations of causal attention for one token in a forward pass over ``context`` tokens, on average."""
        return 2 * self.attention_layers * self.query * context


def read_shape(config: Mapping[str, Any], name: str) -> ModelShape:
    """The shape that a HF ``config.json`` describes; of a multimodal model, that of its language model.

    Raises:
        InputError: a field is missing, or attention is of a kind that is not counted and no count is given.
    """
    inner = config.get("text_config")
    text = {**config, **cast("dict[str, Any]", inner)} if isinstance(inner, dict) else dict(config)
    hidden, layers = _whole(text, "hidden_size", name), _whole(text, "num_hidden_layers", name)
    heads, vocab = _whole(text, "num_attention_heads", name), _whole(text, "vocab_size", name)
    head = text.get("head_dim") or hidden // heads
    kv_heads = text.get("num_key_value_heads") or heads
    query, key_value = heads * head, kv_heads * head
    if "kv_lora_rank" in text and "num_parameters" not in text:
        raise InputError(
            f"{name}: latent attention (kv_lora_rank) is not counted; add num_parameters and num_active_parameters"
        )
    every, active, mlp, io = _mlp(text, hidden, layers, name)
    attention = _attention(text, hidden, query, key_value, head)
    shared = layers * (attention + 2 * hidden) + hidden + vocab * hidden * (1 if _tied(text) else 2)
    return ModelShape(
        name=name,
        parameters=text.get("num_parameters") or shared + every,
        # The table of embeddings is looked up, not multiplied; the head is, tied or not.
        active=text.get("num_active_parameters") or layers * attention + active + vocab * hidden,
        layers=layers,
        attention_layers=_attention_layers(text, layers),
        hidden=hidden,
        query=query,
        kv_heads=kv_heads,
        head=head,
        mlp=mlp,
        vocab=vocab,
        linear_io=layers * (4 * hidden + 2 * query + 2 * key_value) + io,
        weight_bytes=_weight_bytes(config, text),
    )


def _attention(text: Mapping[str, Any], hidden: int, query: int, key_value: int, head: int) -> int:
    kind = str(text.get("model_type", ""))
    size = hidden * (2 * query + 2 * key_value)
    if text.get("attention_bias") or kind.startswith("qwen2"):
        size += query + 2 * key_value + (hidden if text.get("attention_bias") else 0)
    return size + (2 * head if kind.startswith("qwen3") else 0)


def _mlp(text: Mapping[str, Any], hidden: int, layers: int, name: str) -> tuple[int, int, int, int]:
    """Of all MLPs: parameters, those active for a token, width that a token meets, adapters' in and out."""
    experts = text.get("num_experts") or text.get("num_local_experts") or text.get("n_routed_experts") or 0
    dense = int(text.get("intermediate_size") or 0)
    if not experts:
        if not dense:
            raise InputError(f"{name}: its configuration names no 'intermediate_size'")
        return layers * 3 * hidden * dense, layers * 3 * hidden * dense, dense, layers * 3 * (hidden + dense)
    each = int(text.get("moe_intermediate_size") or dense)
    chosen = int(text.get("num_experts_per_tok") or 1)
    shared = int(text.get("shared_expert_intermediate_size") or each * int(text.get("n_shared_experts") or 0))
    plain = len(text.get("mlp_only_layers") or ()) or int(text.get("first_k_dense_replace") or 0)
    sparse = layers - plain
    gate = hidden * experts + (hidden if text.get("shared_expert_intermediate_size") else 0)
    every = sparse * (3 * hidden * (each * experts + shared) + gate) + plain * 3 * hidden * dense
    active = sparse * (3 * hidden * (each * chosen + shared) + gate) + plain * 3 * hidden * dense
    return every, active, each * chosen + shared, plain * 3 * (hidden + dense)


def _attention_layers(text: Mapping[str, Any], layers: int) -> int:
    """Layers with a cache that grows: linear attention has none."""
    kinds = cast("list[str]", text.get("layer_types") or [])
    return layers - sum(kind == "linear_attention" for kind in kinds)


def _tied(text: Mapping[str, Any]) -> bool:
    return bool(text.get("tie_word_embeddings", str(text.get("model_type", "")).startswith("gemma")))


def _weight_bytes(config: Mapping[str, Any], text: Mapping[str, Any]) -> float:
    quantised = config.get("quantization_config") or text.get("quantization_config")
    if isinstance(quantised, dict):
        method = str(cast("dict[str, Any]", quantised).get("quant_method", ""))
        return _QUANTISED.get(method, 1.0)
    told = text.get("dtype") or text.get("torch_dtype") or config.get("dtype") or config.get("torch_dtype")
    return BYTES.get(str(told), 2.0)


def _whole(text: Mapping[str, Any], field: str, name: str) -> int:
    value = text.get(field)
    if not isinstance(value, int) or value < 1:
        raise InputError(f"{name}: its configuration has {field}={value!r}; a whole number above 0 is needed")
    return value
