"""GGUF to safetensors, for one family: Llama with a byte-level BPE tokenizer, such as SmolLM2.

Owns: the names, the layout and the tokenizer of the converted model. Does not own: where it is kept (``prepare``).
Read directly, the file converts in seconds; transformers' own GGUF loader takes longer and its model cannot be saved.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from assay.core.errors import InputError

Step = Callable[[float], None]
"""Told the finished share, 0 to 1."""

_CONTROL = 3
"""The GGUF token type of special tokens."""

_TENSORS = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


def convert_gguf(source: Path, target: Path, step: Step) -> None:
    """Write ``source`` (GGUF, Llama architecture) as a transformers model, float32, into the folder ``target``."""
    from gguf import GGUFReader

    reader = GGUFReader(str(source))
    meta = {key: field.contents() for key, field in reader.fields.items()}
    if meta.get("general.architecture") != "llama" or meta.get("tokenizer.ggml.pre") != "smollm":
        raise InputError(f"{str(source)!r} is no SmolLM2 file; convert other models with their own tools")
    _write_weights(reader, meta, target / "model.safetensors", step)
    _write_config(meta, target)
    _write_tokenizer(meta, target)


def _write_weights(reader: Any, meta: dict[str, Any], target: Path, step: Step) -> None:
    import numpy as np
    from gguf.quants import dequantize
    from safetensors.numpy import save_file

    heads = {"attn_q": meta["llama.attention.head_count"], "attn_k": meta["llama.attention.head_count_kv"]}
    tensors: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {}
    for done, tensor in enumerate(reader.tensors):
        values = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        name, part = _name(tensor.name)
        if part in heads:
            values = _split_rotary(values, heads[part])
        tensors[name] = np.ascontiguousarray(values)
        step(0.9 * (done + 1) / len(reader.tensors))
    save_file(tensors, target, metadata={"format": "pt"})
    step(1.0)


def _name(gguf_name: str) -> tuple[str, str]:
    """The transformers name of a tensor, and which part of a layer it is ("" outside the layers)."""
    if gguf_name in _WHOLE:
        return _WHOLE[gguf_name], ""
    _, layer, part, kind = gguf_name.split(".")
    return f"model.layers.{layer}.{_TENSORS[part]}.{kind}", part


def _split_rotary(values: Any, heads: int) -> Any:
    """Undo GGUF's row order: it keeps rotary pairs side by side, transformers keeps the two halves of a head apart."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _write_config(meta: dict[str, Any], target: Path) -> None:
    special = {
        "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"],
        "pad_token_id": meta["tokenizer.ggml.padding_token_id"],
    }
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": meta["llama.embedding_length"],
        "intermediate_size": meta["llama.feed_forward_length"],
        "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": meta["llama.attention.head_count"],
        "num_key_value_heads": meta["llama.attention.head_count_kv"],
        "head_dim": meta["llama.rope.dimension_count"],
        "max_position_embeddings": meta["llama.context_length"],
        "rms_norm_eps": round(meta["llama.attention.layer_norm_rms_epsilon"], 12),
        "rope_parameters": {"rope_type": "default", "rope_theta": meta["llama.rope.freq_base"]},
        "vocab_size": meta["llama.vocab_size"],
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "dtype": "float32",
        **special,
    }
    _write_json(target / "config.json", config)
    _write_json(target / "generation_config.json", special)


def _write_tokenizer(meta: dict[str, Any], target: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens = cast("list[str]", meta["tokenizer.ggml.tokens"])
    merges = [cast("tuple[str, str]", tuple(pair.split(" "))) for pair in meta["tokenizer.ggml.merges"]]
    vocab = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    # "smollm": every digit is a token of its own, then GPT-2's split.
    split = [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)  # pyright: ignore[reportAttributeAccessIssue]
    tokenizer.decoder = decoders.ByteLevel()  # pyright: ignore[reportAttributeAccessIssue]
    kinds = cast("list[int]", meta["tokenizer.ggml.token_type"])
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    tokenizer.save(str(target / "tokenizer.json"))
    _write_json(
        target / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": tokens[meta["tokenizer.ggml.bos_token_id"]],
            "eos_token": tokens[meta["tokenizer.ggml.eos_token_id"]],
            "pad_token": tokens[meta["tokenizer.ggml.padding_token_id"]],
            "unk_token": tokens[meta["tokenizer.ggml.unknown_token_id"]],
            "model_max_length": meta["llama.context_length"],
            "clean_up_tokenization_spaces": False,
        },
    )
    (target / "chat_template.jinja").write_text(meta["tokenizer.chat_template"], encoding="utf-8")


def _write_json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
