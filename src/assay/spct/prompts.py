"""Prompts for rule-based RL: what a judge is asked about each item, for a policy that is that judge. Pure.

The order of the candidates is drawn anew for each prompt; the group of answers to a prompt shares it. Items that are
too easy by a recorded run are left out. Owns: the rows. Does not own: what an answer earns (``rl.rewards.outcome``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.judges.base import content_hash
from assay.rl.rewards.outcome import KEY, AskedVerdict
from assay.voting.draws import make_draw

from .build import Votes, standings, subjects
from .fates import Standing
from .plan import KIND, SOURCE, RftPlan
from .rows import name_of, turns
from .work import Work, asked_once


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a judge is built of: its name or file, and its options as JSON."""

    judge: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


def prompt_rows(work: Work, said: Said, samples: Votes, plan: RftPlan) -> Iterator[dict[str, Any]]:
    """Rows as ``assay train`` reads them: ``prompt``, ``label`` (the place of the best as it is shown, from 1, or the
    right score), ``metadata``.

    Args:
        said: what the work's judge is built of, so that a reward builds it again.
        samples: the recorded run that says what is too easy; empty leaves nothing out.
    """
    easy = {subject for _, subject, found in standings(work, samples) if found is Standing.TOO_EASY}
    for item, subject, gold in subjects(work):
        if subject in easy and not plan.keep_easy:
            continue
        content = content_hash(work.judge, item)
        for place in range(plan.prompts_per_item):
            draw = make_draw(f"{work.judge.asks}-policy", content, item.n, vote=place, base=plan.seed)
            best = draw.order.index(gold.index(max(gold))) + 1
            asked = AskedVerdict(judge=said.judge, options=dict(said.options), order=draw.order, gold=gold)
            yield {
                "prompt": turns(asked_once(work.judge, item, draw).messages),
                "label": f"{gold[0]:g}" if item.n == 1 else str(best),
                "metadata": {
                    KEY: asked.model_dump(mode="json"),
                    "item": subject[0],
                    SOURCE: name_of(item, SOURCE),
                    KIND: name_of(item, KIND),
                },
            }
