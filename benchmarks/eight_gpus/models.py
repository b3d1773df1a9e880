"""A judge drawn at random whose heads divide by eight, so that one engine may span eight cards."""

from __future__ import annotations

import shutil
from pathlib import Path

JUDGE = {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "initializer_range": 0.02,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
}
TOKENIZER = ("tokenizer*", "special_tokens_map.json", "vocab*", "merges.txt", "*.jinja")


def draw_judge(tokenizer: Path, folder: Path) -> Path:
    """Write a Llama of 1.3 B in bf16 with the tokenizer of another; one that is there stays."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    if (folder / "config.json").is_file():
        return folder
    torch.manual_seed(0)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = LlamaForCausalLM(LlamaConfig(**JUDGE)).to(torch.bfloat16)
    model.save_pretrained(folder)
    for pattern in TOKENIZER:
        for file in tokenizer.glob(pattern):
            shutil.copyfile(file, folder / file.name)
    return folder
