"""PairRM and CLoud over reward engines by rule: what they are shown, and what their logits come to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from assay.bench.running.candidates import CandidateBackend, Scored
from assay.bench.running.heads import CloudScorer, PairScorer, cloud_judge, pair_judge
from assay.bench.running.passes import Asker, RunPlan
from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError
from assay.core.types import Candidate, ChatPrompt, Draw, Failure, FailureKind, Item, Message, TokenPrompt
from assay.data import read_results
from assay.engines.base import EngineHealth, EngineInfo, Reward
from assay.engines.fake.config import FakeConfig
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_judge
from assay.judges.pairrm import PairPrompt

from .doubles import pairs, run, units_of, value

ITEM = Item(
    id="x",
    messages=(Message(role="user", content="q"),),
    candidates=tuple(Candidate(text=text) for text in ("aaaa", "bb", "cccccc")),
)


@dataclass
class Rule:
    """Logit of a pair: length of the first answer less that of the second, plus ``first``. Else: that of the text."""

    first: float = 0.0
    fails: bool = False
    seen: list[str] = field(default_factory=list[str])

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(model="rule", weight_version="1", capabilities=frozenset({"chat"}))

    async def start(self) -> None: ...

    async def reward(self, prompt: ChatPrompt | TokenPrompt, deadline: Deadline) -> Reward:
        assert isinstance(prompt, ChatPrompt)
        if self.fails:
            raise GenerationError(FailureKind.TIMEOUT, "late")
        self.seen.append(prompt.messages[-1].text)
        if len(prompt.messages) > 1:
            return Reward(logit=float(len(prompt.messages[-1].text)), prompt_tokens=7)
        lines = prompt.messages[0].text.splitlines()
        answers = [lines[at + 1] for at, line in enumerate(lines) if line.startswith("[[response ")]
        one, other = map(len, answers)
        return Reward(logit=one - other + self.first, prompt_tokens=7)

    async def health(self) -> EngineHealth:
        return EngineHealth(healthy=True, state="ready")

    async def close(self) -> None: ...


def asked(scorer: PairScorer | CloudScorer, item: Item, order: tuple[int, ...]) -> Scored | Failure:
    return asyncio.run(scorer.score(item, Draw(vote=0, seed=3, order=order), Deadline.after(5)))


def test_a_pair_is_shown_in_the_order_drawn_and_the_sign_says_which_is_better() -> None:
    two = Item(id="x", messages=ITEM.messages, candidates=ITEM.candidates[:2])
    # 4 - 2 + 1 for the first; shown the other way round 2 - 4 + 1 for what is then the first.
    found = asked(PairScorer(engine=Rule(first=1), model="m"), two, (0, 1))
    assert isinstance(found, Scored)
    assert (found.scores, found.usage.calls, found.usage.prompt_tokens) == ((3.0, -3.0), 1, 7)
    turned = asked(PairScorer(engine=Rule(first=1), model="m"), two, (1, 0))
    assert isinstance(turned, Scored)
    assert turned.scores == (1.0, -1.0)


def test_no_preference_means_the_first_that_is_shown() -> None:
    same = Item(id="x", messages=ITEM.messages, candidates=(Candidate(text="a"), Candidate(text="b")))
    for order in ((0, 1), (1, 0)):
        found = asked(PairScorer(engine=Rule(), model="m"), same, order)
        assert isinstance(found, Scored)
        assert found.scores[order[0]] > found.scores[order[1]]


def test_of_several_every_two_are_compared() -> None:
    """Lengths 4, 2 and 6: 4 - 2 and 4 - 6 for the first, over two others."""
    found = asked(PairScorer(engine=Rule(), model="m"), ITEM, (2, 0, 1))
    assert isinstance(found, Scored)
    assert (found.scores, found.usage.calls) == ((0.0, -3.0, 3.0), 3)


def test_a_comparison_that_fails_is_no_score() -> None:
    found = asked(PairScorer(engine=Rule(fails=True), model="m"), ITEM, (0, 1, 2))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.TIMEOUT


def test_pairrm_over_a_benchmark_in_both_orders(tmp_path: Path) -> None:
    """ "good 0" and "bad 0" differ by one letter: the right one wins when shown first, and loses to 1.5 otherwise."""
    benchmark, units = units_of("pairs", pairs(6))
    prompt = PairPrompt()
    asker = Asker(
        judge=pair_judge("m", prompt),
        backend=lambda _: CandidateBackend(PairScorer(engine=Rule(first=1.5), model="m", prompt=prompt)),
        scalar=True,
        varies="orders",
        tempers=False,
    )
    made = run(benchmark, units, asker, tmp_path, RunPlan(bootstrap=0, orders="both"))
    assert made.result.orders is not None
    assert (made.result.orders.first, made.result.orders.second) == (100, 0)
    single, alone = units_of("single", [{"id": "x", "prompt": "q", "candidates": ["ab"], "gold": [1]}])
    with pytest.raises(InputError, match="compares at least 2 candidates"):
        run(single, alone, asker, tmp_path / "single")


def cloud(critic: str | None = None, **engine: object) -> CloudScorer:
    judge = None if critic is None else build_judge(critic, labels=("fine", "no"))
    return CloudScorer(engine=Rule(), writer=FakeEngine(FakeConfig.model_validate(engine)), model="m", critic=judge)


def test_cloud_scores_an_answer_with_its_critique() -> None:
    one = ITEM.only(0)
    scorer = cloud(replies=["rather good"])
    found = asked(scorer, one, (0,))
    assert isinstance(found, Scored)
    assert (found.scores, found.text, found.usage.calls) == ((11.0,), "rather good", 2)
    # The conversation, the answer, the request for feedback, the critique.
    assert [part.splitlines()[0] for part in found.prompt.split("\n\n")] == [
        "[user]", "[assistant]", "[user]", "[assistant]"
    ]  # fmt: skip
    assert asked(cloud(replies=["rather good"]), one, (0,)) == found


def test_a_judge_may_write_the_critique() -> None:
    found = asked(cloud("tokenprob", choices={"fine": 0.9}), ITEM.only(0), (0,))
    assert isinstance(found, Scored)
    assert (found.text, found.scores) == ("fine", (4.0,))


def test_without_a_critique_there_is_no_score() -> None:
    found = asked(cloud(replies=[" "]), ITEM.only(0), (0,))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.PARSE_ERROR
    late = asked(cloud(faults={"error_502": 1}), ITEM.only(0), (0,))
    assert isinstance(late, Failure)


def test_votes_of_cloud_are_critiques_of_their_own(tmp_path: Path) -> None:
    benchmark, units = units_of("pairs", pairs(8))
    asker = Asker(
        judge=cloud_judge("m", None, "en"),
        backend=lambda _: CandidateBackend(cloud(replies=["a", "bb", "cccc"])),
        scalar=True,
        varies="samples",
    )
    made = run(benchmark, units, asker, tmp_path, RunPlan(k=4, bootstrap=0))
    assert [one.name for one in made.result.series] == ["greedy", *(f"voting@{k}" for k in range(1, 5))]
    rows = read_results(tmp_path / "votes.parquet")
    assert len(rows) == 64
    assert {row.scores for row in rows} == {(1.0,), (2.0,), (4.0,)}
    assert {row.text for row in rows} == {"a", "bb", "cccc"}
    assert value(made) is not None
