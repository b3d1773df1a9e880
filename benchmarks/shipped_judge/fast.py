"""The judge's verdicts in large batches of one transformers model, on a card: to choose among trained models.

Verdicts are read off the logits of the two labels, in float32; other texts are generated, on a card in bfloat16,
greedily or sampled. Equal prompts are asked once. Numbers that are published come from the engine that users run
(``engine``): rounding differs.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from assay.core.types import ChatPrompt, Completion, Draw, FinishReason, Item, Verdict
from assay.engines.embedded.finding import find_model
from assay.judges import Judge
from assay.judges.verifier import VerifierJudge

from .decoding import Drawn, decode, first_logits

PLAIN = Draw(vote=0, seed=0, order=(0,))


class Fast:
    """A model, merged with its adapter where one is named.

    Args:
        model: the bundled one by its name, or a folder.
        adapter: a folder in the layout of peft.
        batch: texts at a time.
    """

    def __init__(self, model: str, adapter: Path | None, *, batch: int = 2048) -> None:
        from transformers import AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(str(find_model(model)))
        self._exact = _loaded(model, adapter)
        self._writer = _lowered(self._exact) if torch.cuda.is_available() else self._exact
        self._batch = batch

    def verdicts(self, judge: VerifierJudge, items: Sequence[Item]) -> list[float]:
        """1 where the first label is more likely than the second, else 0."""
        labels = [self._ids([label])[0] for label in judge.labels]
        assert all(len(ids) == 1 for ids in labels), "labels of one token"
        prompts = self._prompts(judge, items, [PLAIN] * len(items))
        unique = list(dict.fromkeys(prompts))
        logits = first_logits(self._exact, unique, [ids[0] for ids in labels], batch=self._batch)
        found = {prompt: float(yes > no) for prompt, (yes, no) in zip(unique, logits, strict=True)}
        return [found[prompt] for prompt in prompts]

    def read(
        self, judge: Judge, items: Sequence[Item], draws: Sequence[Draw], *, new_tokens: int, temperature: float = 0.0
    ) -> list[Verdict | None]:
        """What the judge reads off generated texts; None where it reads no verdict."""
        prompts = self._prompts(judge, items, draws)
        asked = prompts if temperature else list(dict.fromkeys(prompts))
        drawn = Drawn(new_tokens=new_tokens, temperature=temperature, seed=draws[0].vote if draws else 0)
        told = decode(self._writer, asked, (self._tokenizer.eos_token_id,), drawn, batch=self._batch)
        if not temperature:
            known = dict(zip(asked, told, strict=True))
            told = [known[prompt] for prompt in prompts]
        found: list[Verdict | None] = []
        for item, draw, (ids, done) in zip(items, draws, told, strict=True):
            reason: FinishReason = "stop" if done else "length"
            text = self._tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            read = judge.read(item, draw, [Completion(request_id="", text=text, finish_reason=reason)])
            found.append(read if isinstance(read, Verdict) else None)
        return found

    def _prompts(self, judge: Judge, items: Sequence[Item], draws: Sequence[Draw]) -> list[tuple[int, ...]]:
        texts: list[str] = []
        for item, draw in zip(items, draws, strict=True):
            prompt = judge.plan(item, draw)[0].prompt
            assert isinstance(prompt, ChatPrompt)
            turns = [{"role": message.role, "content": message.text} for message in prompt.messages]
            texts.append(self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
        return self._ids(texts)

    def _ids(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """All at once: the tokenizer then works on every core."""
        if not texts:
            return []
        return [tuple(ids) for ids in self._tokenizer(list(texts), add_special_tokens=False)["input_ids"]]


def _loaded(model: str, adapter: Path | None) -> Any:
    from transformers import AutoModelForCausalLM

    lm: Any = AutoModelForCausalLM.from_pretrained(
        str(find_model(model)), dtype=torch.float32, attn_implementation="sdpa"
    )
    if adapter is not None:
        from peft import PeftModel

        lm = PeftModel.from_pretrained(lm, str(adapter)).merge_and_unload()
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")
        lm = lm.cuda()
    return lm.eval()


def _lowered(lm: Any) -> Any:
    """A copy in bfloat16. Weights only: the frequencies of the positions are no weights, and stay exact."""
    lowered = copy.deepcopy(lm)
    for weight in lowered.parameters():
        weight.data = weight.data.to(torch.bfloat16)
    return lowered
