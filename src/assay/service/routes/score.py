"""``POST /score``: one judgment."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from assay.core.errors import GenerationError
from assay.core.types import Failure, FailureKind
from assay.wire.score import FailureReply, ScoreBody, VerdictReply, score_reply, to_item

from ..call import Call
from ..direct import DirectRoutes
from ..gateway import Gateway
from ..replies import json_reply
from ..settings import ServiceSettings
from .documented import errors

NOT_JUDGED = frozenset({FailureKind.ASLEEP, FailureKind.OVERLOADED, FailureKind.CANCELLED})
"""Failures after which the same request may be sent again: the item was not judged. The others are replies."""


def add_score(routes: DirectRoutes, gateway: Gateway, settings: ServiceSettings) -> None:
    """Add the route."""

    async def score(request: Request, body: ScoreBody) -> Response:
        """Judge one item.

        200 carries a verdict, or the typed failure of a judgment that was made and came to none: never a number in
        its place. Any other status means that the item was not judged.
        """
        call = Call.of(request)
        judge, instance = gateway.judge(body.judge, body.route_key)
        item = to_item(body.item, call.request_id)
        deadline = call.deadline(settings.deadline_s, body.deadline_s)
        async with instance.in_flight(call, deadline):
            judgment = await instance.scorer.judge(judge, item, deadline, seed=body.seed, plan=body.plan())
        outcome = judgment.outcome
        if isinstance(outcome, Failure) and outcome.kind in NOT_JUDGED:
            raise GenerationError(outcome.kind, outcome.detail, retry_after=outcome.retry_after)
        facts = {
            "judge": judgment.judge_identity,
            "model": judgment.model,
            "weight_version": judgment.weight_version,
        }
        return json_reply(score_reply(outcome, judgment.votes, judgment.usage, facts))

    routes.add(
        "POST",
        "/score",
        score,
        response_model=VerdictReply | FailureReply,
        responses=errors(401, 404, 413, 422, 429, 502, 503, 504),
        tags=["genrm"],
    )
