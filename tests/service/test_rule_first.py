"""A service whose verifier asks the rule first."""

from __future__ import annotations

import asyncio

from assay.service.app import create_app
from assay.service.assemble import ServeConfig, assemble
from assay.service.settings import ServiceSettings
from assay.wire.genrm import GenRMConfig

from .doubles import client_of


def test_the_rule_decides_what_it_can_and_the_model_the_rest() -> None:
    config = ServeConfig(
        genrm=GenRMConfig(genrm_model_path="m"),
        engine="fake",
        judge_options={"verifier": {"first": "math"}},
    )

    def body(answer: str) -> dict[str, object]:
        asked = [{"role": "user", "content": "How much is left?"}]
        item = {"messages": asked, "candidates": [f"Answer: {answer}"], "reference": "1/2"}
        return {"judge": "verifier", "item": item}

    async def run() -> list[dict[str, object]]:
        async with client_of(create_app(assemble(config), ServiceSettings(port=0))) as client:
            return [(await client.post("/score", json=body(answer))).json() for answer in ("0.5", "some")]

    by_rule, by_model = asyncio.run(run())
    assert by_rule["verdict"]["scores"] == [1.0]  # type: ignore[index]
    assert by_rule["verdict"]["model"] == "rules"  # type: ignore[index]
    assert (by_model.get("verdict") or by_model.get("failure"))["model"] == "fake m"  # type: ignore[index]
