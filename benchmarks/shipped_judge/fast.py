"""The judge's verdicts in large batches of one transformers model, on a card: to choose among trained models.

Verdicts are read off the log-probs of the two labels; other texts are generated greedily or sampled. Numbers that are
published come from the engine that users run (``engine``): rounding differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from assay.core.types import ChatPrompt, Completion, Draw, FinishReason, Item, Verdict
from assay.engines.embedded.attention import PACKED
from assay.judges import Judge
from assay.judges.verifier import VerifierJudge
from assay.training.batch import TrainSequence
from assay.training.sft.config import SftConfig
from assay.training.sft.encode import Encoder
from assay.training.sft.reading import EncoderSettings
from assay.training.sft.rows import SftRow
from assay.training.source import open_source_model
from assay.training.trainer import Trainer

BASE = "smollm2-135m-instruct"
PLAIN = Draw(vote=0, seed=0, order=(0,))


class Fast:
    """A model, merged with its adapter where one is named.

    Args:
        model: the bundled one by its name, or a folder.
        adapter: a folder in the layout of peft.
        tokens: of one pass.
    """

    def __init__(self, model: str, adapter: Path | None, *, tokens: int = 65536) -> None:
        self._config = SftConfig(
            data="none",
            hf_checkpoint=model,
            max_tokens_per_micro_batch=tokens,
        )
        self._encoder: Encoder = EncoderSettings.of(self._config).make()
        self._tokenizer = open_source_model(self._config).tokenizer
        self._lm = _loaded(model, adapter)
        self._trainer: Trainer | None = None

    def verdicts(self, judge: VerifierJudge, items: Sequence[Item]) -> list[float]:
        """1 where the first label is more likely than the second, else 0."""
        if self._trainer is None:
            self._trainer = Trainer(self._config.trainer(None), model=self._lm)
        self._lm.set_attn_implementation(PACKED)
        yes, no = (self._encoder.encode(_row(judge, items[0], PLAIN, label)) for label in judge.labels)
        ends = [tuple(each.ids[each.prompt : -1]) for each in (yes, no)]
        asked: list[TrainSequence] = []
        for item in items:
            prompt = self._prompt(judge, item, PLAIN)
            asked += [TrainSequence(prompt_ids=prompt, response_ids=e, loss_mask=(True,) * len(e)) for e in ends]
        found = [sum(each) for each in self._trainer.logprobs(asked)]
        return [float(a > b) for a, b in zip(found[::2], found[1::2], strict=True)]

    def read(
        self,
        judge: Judge,
        items: Sequence[Item],
        draws: Sequence[Draw],
        *,
        new_tokens: int,
        temperature: float = 0.0,
        batch: int = 512,
    ) -> list[Verdict | None]:
        """What the judge reads off generated texts; None where it reads no verdict."""
        prompts = [self._prompt(judge, item, draw) for item, draw in zip(items, draws, strict=True)]
        texts = self._generated(prompts, new_tokens, temperature, batch)
        found: list[Verdict | None] = []
        for item, draw, (text, done) in zip(items, draws, texts, strict=True):
            reason: FinishReason = "stop" if done else "length"
            read = judge.read(item, draw, [Completion(request_id="", text=text, finish_reason=reason)])
            found.append(read if isinstance(read, Verdict) else None)
        return found

    def _prompt(self, judge: Judge, item: Item, draw: Draw) -> tuple[int, ...]:
        row = self._encoder.encode(_row(judge, item, draw, "1"))
        return tuple(row.ids[: row.prompt])

    def _generated(
        self, prompts: Sequence[tuple[int, ...]], new_tokens: int, temperature: float, batch: int
    ) -> list[tuple[str, bool]]:
        """Texts in the order of the prompts, and whether each came to an end."""
        lm, tokenizer = self._lm, self._tokenizer
        lm.set_attn_implementation("sdpa")
        lm.eval()
        lm.config.use_cache = True
        order = sorted(range(len(prompts)), key=lambda place: -len(prompts[place]))
        end = tokenizer.eos_token_id
        texts: dict[int, tuple[str, bool]] = {}
        how: dict[str, Any] = {"do_sample": True, "temperature": temperature, "top_p": 1.0, "top_k": 0}
        if not temperature:
            how = {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
        for begin in range(0, len(order), batch):
            places = order[begin : begin + batch]
            width = max(len(prompts[place]) for place in places)
            ids = [[end] * (width - len(prompts[place])) + list(prompts[place]) for place in places]
            mask = [[0] * (width - len(prompts[place])) + [1] * len(prompts[place]) for place in places]
            with torch.inference_mode():
                out = lm.generate(
                    input_ids=torch.tensor(ids, device=lm.device),
                    attention_mask=torch.tensor(mask, device=lm.device),
                    max_new_tokens=new_tokens,
                    pad_token_id=end,
                    eos_token_id=end,
                    **how,
                )
            for place, row in zip(places, out[:, width:].tolist(), strict=True):
                done = end in row
                texts[place] = (tokenizer.decode(row[: row.index(end)] if done else row), done)
        return [texts[place] for place in range(len(prompts))]


def _loaded(model: str, adapter: Path | None) -> Any:
    from transformers import AutoModelForCausalLM

    from assay.engines.embedded.weights import find_model

    lm: Any = AutoModelForCausalLM.from_pretrained(str(find_model(model)), dtype=torch.float32)
    if adapter is not None:
        from peft import PeftModel

        # A trainer, which reads the log-probs, is made for weights that can be trained; peft froze them.
        lm = PeftModel.from_pretrained(lm, str(adapter)).merge_and_unload().requires_grad_(True)
    if torch.cuda.is_available():
        torch.set_float32_matmul_precision("high")
        lm = lm.cuda()
    return lm


def _row(judge: Judge, item: Item, draw: Draw, said: str) -> SftRow:
    prompt = judge.plan(item, draw)[0].prompt
    assert isinstance(prompt, ChatPrompt)
    return SftRow(prompt=prompt.messages, completion=said, where=item.id)
