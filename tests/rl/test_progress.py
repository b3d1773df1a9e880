from __future__ import annotations

import asyncio
from collections.abc import Mapping

from assay.core.deadline import Deadline
from assay.placement.plans import Phase, PhaseKind
from assay.rl.progress import AnswersJudged, Event, PhaseBegan, StepMade, ToldResidency, ToldReward, ToldSteps

from .watching import Equal, sample, stepped


def test_phases_answers_and_steps_are_told() -> None:
    told: list[Event] = []

    async def run() -> Mapping[str, float]:
        await ToldResidency({}, tell=told.append).enter(Phase(kind=PhaseKind.GENERATE, awake=("rollout",)))
        reward = ToldReward(Equal(), told.append)
        await reward.start()
        assert not reward.grouped
        from dataclasses import replace

        right, odd = sample(None), replace(sample(None, index=1), response="?")
        rewards = await reward.score([right, odd], Deadline.never())
        assert [one.failure is None for one in rewards] == [True, False]
        await reward.close()
        return await ToldSteps(told.append).after(stepped(3, metrics={"reward/mean": 0.5}))

    assert asyncio.run(run()) == {}
    assert told == [
        PhaseBegan(phase="generate"),
        AnswersJudged(answers=2, failed=1),
        StepMade(step=3, metrics={"reward/mean": 0.5}),
    ]
