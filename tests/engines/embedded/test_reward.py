"""The embedded reward engine on a tiny random Llama with a score head."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Qwen3Config

from assay.core.deadline import Deadline
from assay.core.errors import AssayError, GenerationError, InputError
from assay.core.types import ChatPrompt, FailureKind, Message, TokenPrompt
from assay.engines.base import Reward
from assay.engines.embedded.reward.config import EmbeddedRewardConfig
from assay.engines.embedded.reward.engine import EmbeddedRewardEngine
from assay.engines.embedded.reward.model import RewardModel, load_reward_model
from assay.engines.embedded.reward.picking import pick

from .conftest import CHATML, tiny_config, tokenizer

END = 265
"""``<|e|>``, the end of a turn."""


def save_reward_model(folder: Path, *, labels: int = 1, template: str | None = CHATML, **changes: Any) -> Path:
    config = tiny_config(**changes)
    config.num_labels = labels
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    tokenizer(template).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reward_model(tmp_path_factory.mktemp("reward"))


@pytest.fixture(scope="module")
def model(folder: Path) -> RewardModel:
    return load_reward_model(config(folder))


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[EmbeddedRewardEngine]:
    made = EmbeddedRewardEngine(config(folder, max_batch=4))
    asyncio.run(made.start())
    yield made
    asyncio.run(made.close())


def config(folder: Path, **changes: Any) -> EmbeddedRewardConfig:
    return EmbeddedRewardConfig(model=str(folder), device="cpu", **changes)


def judged(text: str, question: str = "6 times 7?") -> ChatPrompt:
    return ChatPrompt(messages=(Message(role="user", content=question), Message(role="assistant", content=text)))


def ask(engine: EmbeddedRewardEngine, *prompts: ChatPrompt | TokenPrompt, seconds: float = 60) -> list[Any]:
    """All at once; a failure in the place of its prompt."""

    async def together() -> list[Any]:
        calls = (engine.reward(prompt, Deadline.after(seconds)) for prompt in prompts)
        return await asyncio.gather(*calls, return_exceptions=True)

    return asyncio.run(together())


def kind(outcome: Any) -> FailureKind:
    assert isinstance(outcome, GenerationError), outcome
    return outcome.kind


def test_the_logit_is_that_of_transformers_alone(engine: EmbeddedRewardEngine, folder: Path) -> None:
    texts = ["", "good", "Analysis: the first one is right.\nScores: \\boxed{9, 2}", "a" * 300]
    plain: Any = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tok: Any = AutoTokenizer.from_pretrained(folder)
    rewards = ask(engine, *map(judged, texts))
    for text, reward in zip(texts, rewards, strict=True):
        shown = f"<|s|>user\n6 times 7?<|e|>\n<|s|>assistant\n{text}<|e|>\n"
        ids = tok(shown, add_special_tokens=False, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            expected = plain(input_ids=ids).logits[0, 0].item()
        assert reward.logit == pytest.approx(expected, abs=1e-5)
        assert reward.prompt_tokens == ids.shape[1]


def test_a_logit_does_not_depend_on_what_is_computed_beside_it(model: RewardModel) -> None:
    rows = [[(31 * i + 7 * length) % 260 for i in range(length)] for length in (1, 2, 3, 17, 64, 200, 333)]
    alone = [model.logits([row])[0] for row in rows]
    assert model.logits(rows) == pytest.approx(alone, abs=1e-5)
    assert model.logits(rows[::-1]) == pytest.approx(alone[::-1], abs=1e-5)
    assert len({round(logit, 3) for logit in alone}) == len(rows)


@pytest.mark.parametrize("pad", [END, None, -1])
def test_the_last_token_is_read_whatever_the_padding_is_called(tmp_path: Path, folder: Path, pad: int | None) -> None:
    """Where the end of a turn is the padding too, transformers itself would read one token early."""
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(settings | {"pad_token_id": pad}))
    loaded, plain = load_reward_model(config(copy)), load_reward_model(config(folder))
    rows = [[5, 6, 7, END], [5, END, END], [9] * 30]
    assert loaded.logits(rows) == pytest.approx(plain.logits(rows), abs=1e-5)
    assert loaded.logits([[5, 6, 7, END]])[0] != pytest.approx(loaded.logits([[5, 6, 7]])[0], abs=1e-3)


def test_prompts_that_wait_together_are_one_batch(engine: EmbeddedRewardEngine) -> None:
    before = asyncio.run(engine.health()).detail
    rewards = ask(engine, *(judged("word " * i) for i in range(9)))
    after = asyncio.run(engine.health()).detail
    assert all(isinstance(reward, Reward) for reward in rewards)
    assert int(str(after["answered"])) - int(str(before["answered"])) == 9
    # Nine prompts, four at most at once; the first may have started alone.
    assert 3 <= int(str(after["batches"])) - int(str(before["batches"])) <= 4


def test_one_prompt_fails_alone(engine: EmbeddedRewardEngine) -> None:
    picture = ChatPrompt(messages=(Message(role="user", content=({"type": "image_url"},)),))
    outcomes = ask(
        engine, judged("fine"), judged("long " * 700), TokenPrompt(token_ids=(5, 9_999)), picture, judged("fine")
    )
    assert isinstance(outcomes[0], Reward)
    assert outcomes[0].logit == pytest.approx(outcomes[4].logit, abs=1e-5)
    expected = [FailureKind.CONTEXT_OVERFLOW, FailureKind.BAD_REQUEST, FailureKind.BAD_REQUEST]
    assert [kind(outcome) for outcome in outcomes[1:4]] == expected
    assert "takes 640" in outcomes[1].detail


def test_token_ids_are_taken_as_they_are(engine: EmbeddedRewardEngine, model: RewardModel) -> None:
    [reward] = ask(engine, TokenPrompt(token_ids=(1, 2, 3)))
    assert reward.logit == pytest.approx(model.logits([[1, 2, 3]])[0], abs=1e-5)


def test_what_the_engine_says_of_itself(engine: EmbeddedRewardEngine) -> None:
    assert engine.info.capabilities == {"chat", "tokens"}
    assert engine.info.context_len == 640
    assert engine.info.weight_version
    assert not engine.info.batch_invariant
    assert asyncio.run(engine.health()).healthy


def test_on_the_cpu_prompts_are_computed_one_by_one_unless_said(model: RewardModel, folder: Path) -> None:
    assert model.max_batch == 1
    assert load_reward_model(config(folder, max_batch=3)).max_batch == 3


def test_a_deadline_and_a_caller_who_leaves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, computed = threading.Event(), list[int]()
    plain = RewardModel.logits

    def slow(self: RewardModel, rows: list[Any]) -> list[float]:
        assert held.wait(30)
        computed.append(len(rows))
        return plain(self, rows)

    async def body() -> None:
        engine = EmbeddedRewardEngine(config(folder, max_batch=1, max_queue=2))
        await engine.start()
        monkeypatch.setattr(RewardModel, "logits", slow)
        first = asyncio.create_task(engine.reward(judged("a"), Deadline.never()))
        await asyncio.sleep(0.05)
        with pytest.raises(GenerationError) as late:
            await engine.reward(judged("b"), Deadline.after(0.05))
        assert late.value.kind is FailureKind.TIMEOUT
        gone = asyncio.create_task(engine.reward(judged("c"), Deadline.never()))
        last = asyncio.create_task(engine.reward(judged("d"), Deadline.never()))
        await asyncio.sleep(0.05)
        with pytest.raises(GenerationError) as full:
            await engine.reward(judged("e"), Deadline.never())
        assert full.value.kind is FailureKind.OVERLOADED
        gone.cancel()
        held.set()
        await asyncio.gather(first, last)
        assert len(computed) == 2  # neither the one that was late nor the one that left
        await engine.close()

    asyncio.run(body())


def test_a_fault_is_told_to_those_in_the_batch_and_the_engine_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        engine = EmbeddedRewardEngine(config(folder))
        await engine.start()
        for fault, words in ((IndexError("inside"), "the log"), (torch.OutOfMemoryError("out"), "lower")):

            def broken(self: RewardModel, rows: list[Any], fault: Exception = fault) -> list[float]:
                raise fault

            with monkeypatch.context() as patched:
                patched.setattr(RewardModel, "logits", broken)
                with pytest.raises(GenerationError, match=words) as caught:
                    await engine.reward(judged("a"), Deadline.after(30))
                assert caught.value.kind is FailureKind.ENGINE_ERROR
        with monkeypatch.context() as patched:
            patched.setattr(RewardModel, "logits", lambda *_: [float("nan")])
            with pytest.raises(GenerationError, match="is nan"):
                await engine.reward(judged("a"), Deadline.after(30))
        assert (await engine.reward(judged("a"), Deadline.after(30))).prompt_tokens > 0
        await engine.close()

    asyncio.run(body())
    assert "inside" in caplog.text


def test_not_started_and_closed_are_failures(folder: Path) -> None:
    async def body() -> None:
        engine = EmbeddedRewardEngine(config(folder))
        with pytest.raises(GenerationError, match="not started"):
            await engine.reward(judged("a"), Deadline.never())
        assert not (await engine.health()).healthy
        await engine.start()
        await engine.start()
        await engine.close()
        await engine.close()
        with pytest.raises(GenerationError, match="closed"):
            await engine.reward(judged("a"), Deadline.never())
        assert (await engine.health()).state == "closed"

    asyncio.run(body())


def refusal(folder: Path) -> AssayError:
    async def start() -> None:
        engine = EmbeddedRewardEngine(config(folder))
        try:
            await engine.start()
        finally:
            await engine.close()

    with pytest.raises(AssayError) as caught:
        asyncio.run(start())
    return caught.value


def test_two_logits_are_refused(tmp_path: Path) -> None:
    error = refusal(save_reward_model(tmp_path, labels=2))
    assert isinstance(error, InputError)
    assert "num_labels=2 (score.weight [2, 64])" in str(error)
    assert "num_labels=1" in str(error)


def test_a_model_that_generates_is_refused_and_not_given_a_random_head(tiny: Path) -> None:
    error = refusal(tiny)
    assert isinstance(error, InputError)
    assert "LlamaForCausalLM" in str(error)
    assert "no score head" in str(error)


def test_a_checkpoint_with_holes_is_refused(tmp_path: Path, folder: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    weights = load_file(copy / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    error = refusal(copy)
    assert isinstance(error, InputError)
    assert "lacks 1 weights" in str(error)
    assert "model.norm.weight" in str(error)


def test_no_such_model(tmp_path: Path) -> None:
    assert "no such folder" in str(refusal(tmp_path / "nowhere"))


def test_without_a_chat_template_only_token_ids_are_scored(tmp_path: Path) -> None:
    made = EmbeddedRewardEngine(config(save_reward_model(tmp_path, template=None)))
    asyncio.run(made.start())
    assert made.info.capabilities == {"tokens"}
    chat, tokens = ask(made, judged("a"), TokenPrompt(token_ids=(1, 2)))
    asyncio.run(made.close())
    assert kind(chat) is FailureKind.BAD_REQUEST
    assert isinstance(tokens, Reward)


def test_a_template_that_drops_the_scored_turn_is_refused(tmp_path: Path) -> None:
    template = "{% for m in messages %}{% if m['role'] == 'user' %}{{ m['content'] }}{% endif %}{% endfor %}"
    made = EmbeddedRewardEngine(config(save_reward_model(tmp_path, template=template)))
    asyncio.run(made.start())
    [outcome] = ask(made, judged("the scored turn"))
    asyncio.run(made.close())
    assert kind(outcome) is FailureKind.BAD_REQUEST
    assert "last turn" in outcome.detail


def test_another_architecture(tmp_path: Path) -> None:
    settings = {key: value for key, value in tiny_config().to_dict().items() if key in TINY}
    qwen = Qwen3Config(**settings, head_dim=16, num_labels=1)
    torch.manual_seed(1)
    AutoModelForSequenceClassification.from_config(qwen).save_pretrained(tmp_path)
    tokenizer().save_pretrained(tmp_path)
    loaded = load_reward_model(config(tmp_path))
    rows = [[1, 2, 3], [4] * 50]
    assert loaded.logits(rows) == pytest.approx([loaded.logits([row])[0] for row in rows], abs=1e-5)


TINY = (
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"),
    *("num_key_value_heads", "max_position_embeddings", "initializer_range", "pad_token_id"),
)


@given(
    st.lists(st.integers(1, 500), max_size=30),
    st.integers(1, 8),
    st.integers(1, 2000),
)
def test_a_batch_holds_the_first_and_keeps_its_limits(lengths: list[int], rows: int, tokens: int) -> None:
    places = pick(lengths, rows=rows, tokens=tokens)
    assert places == sorted(set(places))
    if not lengths:
        assert places == []
        return
    assert places[0] == 0
    assert len(places) <= rows
    assert len(places) == 1 or len(places) * max(lengths[place] for place in places) <= tokens


def test_those_of_like_length_go_together() -> None:
    assert pick([100, 900, 110, 90, 2000], rows=3, tokens=10_000) == [0, 2, 3]
    assert pick([100, 900, 110], rows=3, tokens=300) == [0, 2]
    assert pick([5000, 10], rows=4, tokens=100) == [0]
