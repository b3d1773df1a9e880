"""``--adapter`` of the verbs that judge, down to the engine that answers."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file
from torch import ones

from assay.cli.adapting import adapted
from assay.cli.building import backend
from assay.cli.judge import JudgeFlags
from assay.cli.rft import RftFlags
from assay.cli.rft_run import _asking
from assay.cli.serve import ServeFlags, _engine_options
from assay.core.deadline import Deadline
from assay.core.errors import InputError
from assay.core.types import Candidate, Failure, FailureKind, Item, Message, Outcome, SamplingParams, Verdict
from assay.engines.embedded import shipped
from assay.engines.embedded.adapter_card import CARD
from assay.engines.embedded.config import DEFAULT_MODEL
from assay.engines.embedded.engine import EmbeddedEngine
from assay.engines.embedded.lora import SETTINGS, WEIGHTS
from assay.engines.embedded.shipped import DEFAULT_ADAPTER, card_of, needing_reference
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import Judge, build_judge
from assay.rl.config import TrainConfig
from assay.rl.local.rollout import rollout_engine
from assay.scoring.scorer import Scorer

CARD_OF_IT = {
    "name": DEFAULT_ADAPTER,
    "summary": "Made here.",
    "license": "Apache-2.0",
    "base": {"model": "m", "source": "s", "state_sha256": "0" * 64},
    "judges": {"verifier": {"target": "forms", "max_new_tokens": 96, "temperature": 0.0}},
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / DEFAULT_ADAPTER
    folder.mkdir()
    (folder / SETTINGS).write_text(json.dumps({"r": 1, "lora_alpha": 1, "target_modules": ["q"]}))
    save_file({f"base_model.model.q.lora_{part}.weight": ones(1, 1) for part in "AB"}, folder / WEIGHTS)
    (folder / CARD).write_text(json.dumps(CARD_OF_IT))
    monkeypatch.setattr(shipped, "ADAPTERS", tmp_path)
    return tmp_path


def _engine(judge: str, **flags: Any) -> tuple[str, Scorer]:
    """The adapter of the engine that is built, and its scorer."""
    scorer = backend(JudgeFlags(judge=judge, **flags), build_judge(judge))
    assert isinstance(scorer, Scorer)
    assert isinstance(scorer.engine, EmbeddedEngine)
    return scorer.engine.config.adapter, scorer


def test_the_bundled_model_judges_with_the_adapter_where_it_was_made_for_the_judge() -> None:
    adapter, scorer = _engine("verifier")
    assert adapter == DEFAULT_ADAPTER
    assert (scorer.sampling.max_new_tokens, scorer.sampling.temperature) == (96, 0.0)
    assert _engine("tokenprob")[0] == "none"
    assert _engine("verifier", model="org/other")[0] == "none"
    assert _engine("verifier", adapter="none")[0] == "none"
    assert _engine("verifier", engine_options={"adapter": "none"})[0] == "none"
    assert _engine("tokenprob", adapter=DEFAULT_ADAPTER)[0] == DEFAULT_ADAPTER


def test_what_the_user_says_of_sampling_wins() -> None:
    sampling = _engine("verifier", sampling={"temperature": 0.7})[1].sampling
    assert (sampling.max_new_tokens, sampling.temperature) == (96, 0.7)


def test_a_judge_of_a_file_is_another_one_whatever_its_name(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('name = "verifier"\nparser = "label"\nlabels = {Y = 1, N = 0}\nprompt = "{answer}?"\n')
    options: dict[str, Any] = {}
    assert adapted(JudgeFlags(), "embedded", options, build_judge(str(file))) == (SamplingParams(), frozenset())
    assert options == {"adapter": "none"}


def test_an_adapter_without_effect_is_refused() -> None:
    verifier = build_judge("verifier")
    with pytest.raises(InputError, match=r"--adapter 'x' has no effect with --engine openai"):
        backend(JudgeFlags(judge="verifier", engine="openai", url="http://localhost:1", adapter="x"), verifier)
    with pytest.raises(InputError, match=r"--adapter 'x' has no effect on a judge service"):
        backend(JudgeFlags(judge="verifier", engine="service", adapter="x"), verifier)
    with pytest.raises(InputError, match="no adapter 'nowhere'"):
        backend(JudgeFlags(judge="verifier", adapter="nowhere"), verifier)
    with pytest.raises(InputError, match=r"--adapter 'x' has no effect with --engine fake"):
        _engine_options(ServeFlags(engine="fake", adapter="x"))
    assert _engine_options(ServeFlags(adapter="x")) == {"adapter": "x"}


async def _outcome(scorer: Scorer, judge: Judge, reference: str | None) -> Outcome:
    item = Item(
        id="x",
        messages=(Message(role="user", content="6 x 7?"),),
        candidates=(Candidate(text="42"), Candidate(text="43")),
        reference=reference,
    )
    return (await scorer.judge(judge, item, Deadline.after(20))).outcome


def test_an_adapter_that_judges_by_a_reference_is_not_asked_without_one(package: Path) -> None:
    """What it would write is a reference of its own, and scores by it."""
    form = {"target": "forms", "needs_reference": True}
    (package / DEFAULT_ADAPTER / CARD).write_text(json.dumps(CARD_OF_IT | {"judges": {"pointwise": form}}))
    card = card_of(DEFAULT_ADAPTER)
    judge, hidden = build_judge("pointwise"), build_judge("pointwise", reference=False)
    assert adapted(JudgeFlags(), "embedded", {}, judge)[1] == {"pointwise"}
    assert adapted(JudgeFlags(adapter="none"), "embedded", {}, judge)[1] == frozenset()
    engine = FakeEngine(FakeConfig(default="\\boxed{9, 1}"))
    scorer = Scorer(engine, needs_reference=needing_reference(card))

    async def main() -> None:
        await scorer.start()
        for asked, reference in ((judge, None), (judge, " "), (hidden, "42")):
            outcome = await _outcome(scorer, asked, reference)
            assert isinstance(outcome, Failure)
            assert outcome.kind is FailureKind.BAD_REQUEST
            assert "--adapter none" in outcome.detail
        assert isinstance(await _outcome(scorer, judge, "42"), Verdict)
        await scorer.close()

    asyncio.run(main())


def test_models_that_are_trained_are_taken_as_they_are(tmp_path: Path) -> None:
    rft = _asking(RftFlags(items=("x.jsonl",), judge="verifier"))
    assert rft.adapter == "none"
    assert _asking(RftFlags(items=("x.jsonl",), adapter="own")).adapter == "own"
    config = TrainConfig(hf_checkpoint=DEFAULT_MODEL, prompt_data="x.jsonl", rm_type="math", run_dir=tmp_path)
    policy = rollout_engine(config, None)
    assert isinstance(policy, EmbeddedEngine)
    assert (policy.config.model, policy.config.adapter) == (DEFAULT_MODEL, "none")
