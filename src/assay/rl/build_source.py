"""Where the batches of a run come from: rollouts that are made when asked for, or ahead of the trainer."""

from __future__ import annotations

from collections.abc import Sequence

from assay.placement.plans import Mode, PlacementPlan

from .config import TrainConfig
from .cursor import Cursor
from .ports import Scoring, Source
from .prompts import Row
from .rollout.ahead import RolloutAhead
from .rollout.config import RolloutConfig
from .rollout.groups import Groups
from .rollout.now import RolloutNow
from .rollout.processed import ProcessedSource
from .sample import Prompt


def build_source(
    config: TrainConfig,
    plan: PlacementPlan | None,
    groups: Groups,
    rows: Sequence[Row],
    *,
    cursor: Cursor,
    hook: Scoring | None,
) -> Source:
    """The source that the mode asks for.

    Args:
        rows: the prompts; ``cursor`` says in which order they come.
        hook: what whole batches go through before they are trained on.
    """

    def prompt(ordinal: int) -> Prompt:
        return rows[cursor.row(ordinal)].drawn(ordinal)

    rollout, failure_as = config.settings(RolloutConfig), config.judge_failure_as
    if plan is not None and plan.mode is Mode.FULLY_ASYNC:
        staleness = plan.max_staleness
        source = RolloutAhead(groups, cursor, prompt, rollout, max_staleness=staleness, failure_as=failure_as)
    else:
        source = RolloutNow(groups, cursor, prompt, rollout, failure_as=failure_as)
    return source if hook is None else ProcessedSource(source, hook)
