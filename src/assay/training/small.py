"""A policy small enough to be trained on a CPU while somebody watches: a Llama over single characters.

Owns: its shape and its files, as transformers writes them. Does not own: what it is taught (``fine_tune``, rewards).
"""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from assay.engines.embedded.bars import no_bars

SPECIAL = ("<pad>", "<bos>", "<eos>")
PAD, BOS, EOS = range(len(SPECIAL))
_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""Turns as they stand, one after the other."""


def save_small(
    folder: Path, characters: str, *, seed: int, hidden: int = 128, layers: int = 2, context: int = 64
) -> Path:
    """Write an untrained one with its tokenizer; returns the folder.

    Args:
        characters: the text that it can read and write, each a token of its own.
        hidden: width; with 2 layers, 128 are a third of a million weights.
        context: most tokens of prompt and answer together.
    """
    words = (*SPECIAL, *dict.fromkeys(characters))
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=context,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
        tie_word_embeddings=True,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with no_bars():
        model.save_pretrained(folder)
    _tokenizer(words).save_pretrained(folder)
    return folder


def _tokenizer(words: tuple[str, ...]) -> PreTrainedTokenizerFast:
    made = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token=SPECIAL[PAD]))
    made.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=SPECIAL[BOS], eos_token=SPECIAL[EOS], pad_token=SPECIAL[PAD],
        unk_token=SPECIAL[PAD], chat_template=_TEMPLATE,
    )  # fmt: skip
