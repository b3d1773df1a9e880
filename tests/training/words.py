"""A tiny Llama over words, with a chat template, for fits that end in seconds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}> {{ m['content'] }} <end>\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant> {% endif %}"
)
SPECIAL = ("<pad>", "<unk>", "<end>", "<user>", "<assistant>")
END = SPECIAL.index("<end>")


def save_words(
    folder: Path, words: Iterable[str], *, seed: int = 0, hidden: int = 32, layers: int = 1, pad: str | None = "<pad>"
) -> Path:
    """A random model of these words, and its tokenizer; other words are all one."""
    vocabulary = {word: index for index, word in enumerate(dict.fromkeys((*SPECIAL, *words)))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token="<end>",
        unk_token="<unk>",
        pad_token=pad,
        additional_special_tokens=["<user>", "<assistant>"],
        chat_template=TEMPLATE,
    )
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=512,
            initializer_range=0.1,
            bos_token_id=None,
            eos_token_id=END,
            pad_token_id=0,
            tie_word_embeddings=True,
        )
    )
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
