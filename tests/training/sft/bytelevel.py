"""Small byte-level tokenizers that cut texts as known models do, with merges that go over spaces and line breaks."""

from __future__ import annotations

from typing import Any

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

CHATML = (
    "{% for m in messages %}<user>{{ m['role'] }}\n{{ m['content'] }}<end>\n{% endfor %}"
    "{% if add_generation_prompt %}<user>assistant\n{% endif %}"
)
LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
QWEN = LLAMA.replace("{1,3}", "")
QWEN_MARKS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
TEXTS = [
    "We're told:\n\nthe answer is 12.\nIt's not.\n\n\n  a b  c\t\tde\r\n\r\nx = 5;\n\n[[question 7]]\n[[/question]]",
    "你好。\n\n答案是：12\n 答案 12\n",
] * 3


def gpt2(*, digits: bool = True, prefix: bool = False) -> Any:
    last = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), last]) if digits else last


def split(pattern: str) -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def tokenizer(cuts: Any, *, nfc: bool = False, own: type[Any] = PreTrainedTokenizerFast, template: str = CHATML) -> Any:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = cuts
    if nfc:
        made.normalizer = normalizers.NFC()
    special = ["<s>", "<end>", "<user>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, special_tokens=special, show_progress=False),
    )
    return own(
        tokenizer_object=made,
        bos_token="<s>",
        eos_token="<end>",
        additional_special_tokens=["<user>"],
        chat_template=template,
    )


class WholeTexts(PreTrainedTokenizerFast):
    """With Python code of its own where texts come in, so that texts go whole."""

    def __call__(self, *given: Any, **more: Any) -> Any:
        return super().__call__(*given, **more)
