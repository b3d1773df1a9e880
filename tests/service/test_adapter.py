"""An adapter in a service: which instances have it, how their judges are sampled, and where it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from assay.core.errors import InputError
from assay.engines.base import EngineInfo
from assay.engines.embedded import shipped
from assay.engines.embedded.adapter_card import CARD
from assay.engines.embedded.lora import WEIGHTS
from assay.engines.embedded.shipped import DEFAULT_ADAPTER
from assay.engines.instances import instance_adapter
from assay.service.assemble import ServeConfig, assemble
from assay.voting.plan import VotePlan
from assay.wire.genrm import GenRMConfig

from .doubles import Puppet, call, make_app

IDENTITY = "smollm2-135m-judge@0123456789ab"
CARD_OF_IT = {
    "name": DEFAULT_ADAPTER,
    "summary": "Made here.",
    "license": "Apache-2.0",
    "base": {"model": "m", "source": "s", "state_sha256": "0" * 64},
    "judges": {"verifier": {"target": "forms", "max_new_tokens": 96, "temperature": 0.0}},
}
TWO = {
    "small": {"model_path": "smollm2-135m-instruct", "num_gpus": 0},
    "bare": {"model_path": "smollm2-135m-instruct", "num_gpus": 0, "engine_config": {"adapter": "none"}},
    "large": {"model_path": "org/large", "num_gpus": 0},
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / DEFAULT_ADAPTER
    folder.mkdir()
    (folder / WEIGHTS).write_bytes(b"")
    (folder / CARD).write_text(json.dumps(CARD_OF_IT))
    monkeypatch.setattr(shipped, "ADAPTERS", tmp_path)


class Adapted(Puppet):
    @property
    def info(self) -> EngineInfo:
        return EngineInfo(model="m", weight_version="w", capabilities=frozenset({"chat"}), adapter=IDENTITY)


def test_each_instance_takes_the_adapter_of_its_own_model() -> None:
    specs = GenRMConfig(genrm_instances=TWO).specs()  # type: ignore[arg-type]
    found = {key: instance_adapter(spec, "embedded", {}) for key, spec in specs.items()}
    assert found == {"small": DEFAULT_ADAPTER, "bare": "none", "large": "none"}
    assert instance_adapter(specs["small"], "sglang", {}) == "none"
    assert instance_adapter(specs["large"], "embedded", {"adapter": "mine"}) == "mine"


def test_judges_of_an_adapted_instance_are_sampled_as_its_card_says() -> None:
    config = ServeConfig(genrm=GenRMConfig(genrm_instances=TWO))  # type: ignore[arg-type]
    hub = assemble(config, {key: Puppet() for key in TWO})
    limits = {
        key: (scorer._sampling("verifier", None), scorer._sampling("pointwise", None))
        for key, scorer in hub.instances.items()
    }
    assert {key: [one.max_new_tokens for one in pair] for key, pair in limits.items()} == {
        "small": [96, 4096],
        "bare": [4096, 4096],
        "large": [4096, 4096],
    }
    votes = hub.instances["small"]._sampling("verifier", VotePlan(k=3))
    assert (votes.max_new_tokens, votes.temperature) == (96, 0.5)


def test_choices_are_refused_where_a_line_comes_first() -> None:
    options = {"verifier": {"choices": True}}
    config = ServeConfig(genrm=GenRMConfig(genrm_instances=TWO), judge_options=options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="writes normal forms before it"):
        assemble(config, {key: Puppet() for key in TWO})


def test_health_and_metrics_name_the_adapter() -> None:
    app = make_app(Adapted())
    assert call(app, "GET", "/health").json()["adapter"] == IDENTITY
    assert call(app, "GET", "/metrics").json()["adapter"] == IDENTITY
    text = call(app, "GET", "/metrics", headers={"accept": "text/plain"}).text
    told = next(family for family in text_string_to_metric_families(text) if family.name == "assay_model_info")
    labels = {"instance": "__default__", "model": "m", "weight_version": "w", "adapter": IDENTITY}
    assert labels in [sample.labels for sample in told.samples]
