"""The recipe of a run: one TOML file. What a section of training does not say is as in the paper (DeepSeek-GRM).

Flags of ``assay sft``, ``assay train`` and ``assay rm`` stand in the sections by their own names; those that the
pipeline sets itself are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from assay.core.config import Config, explain
from assay.rl.config import TrainConfig
from assay.training.heads.config import HeadConfig
from assay.training.sft.config import SftConfig

from ..paper import ABLATIONS
from ..plan import RftPlan

Shape = Literal["single", "pair", "several"]
Model = Literal["base", "cold", "rft", "rl"]
MODELS: tuple[Model, ...] = ("base", "cold", "rft", "rl")

SFT: Mapping[str, Any] = {"lr": 5e-6, "export_dtype": "float32", "tracker": "none"}
RL: Mapping[str, Any] = {
    "n_samples_per_prompt": 4,
    "use_kl_loss": True,
    "kl_loss_coef": 0.08,
    "lr": 4e-7,
    "num_rollout": 900,
    "tracker": "none",
}
META: Mapping[str, Any] = {"lr": 1e-5, "eval_share": 0.1, "export_dtype": "float32", "tracker": "none"}
"""Rates, group size and KL of the paper; its batches and steps are for 27B on 128 cards and are the recipe's to say."""

_SET = frozenset({"data", "prompt_data", "hf_checkpoint", "run_dir", "kind", "rm_type", "stop_after_minutes"})
_SET_RL = frozenset({"rollout_engine", "rollout_engine_options", "rollout_attach", "weight_sync", "export_model"})


class ItemsRecipe(Config):
    """Generated items. Numbers are of each source."""

    sources: tuple[str, ...] = ("answers", "problems", "instructions")
    """Kinds, or groups of kinds, of assay data generate."""
    train: int = Field(default=1000, ge=1)
    """Items to sample and to train on."""
    held: int = Field(default=150, ge=1)
    """Items to measure on: other templates, phrasings, names and numbers."""
    meta: int = Field(default=150, ge=1)
    """Items that the trained judge judges for the meta RM."""
    general: int = Field(default=0, ge=0)
    """Prompts that the base model answers, to be mixed in (rft.ratio), of all sources together."""
    shapes: tuple[Shape, ...] = ("single", "pair", "several")
    """Candidates of an item: one, two, or four to eight; measured is on those with two or more."""


class ColdRecipe(Config):
    """The cold start: correct texts by rule, where the paper samples a far larger model."""

    texts: int = Field(default=20000, ge=1)
    """How many."""
    sft: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Flags of assay sft."""


class RftRecipe(RftPlan):
    """Rejection sampling, as assay rft has it."""

    sampling: dict[str, Any] = Field(default_factory=lambda: {"temperature": 0.7, "max_new_tokens": 512})
    """How the cold model is sampled."""


class MetaRecipe(Config):
    """The meta RM, on votes of rejection sampling and of the trained judge."""

    k: int = Field(default=4, ge=1)
    """Votes of the trained judge on each of its items."""
    rm: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Flags of assay rm."""
    models: tuple[Model, ...] = Field(default=MODELS, min_length=1)
    """Whose votes it weighs."""
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Options of the engine that runs it (--meta-options)."""


class EvaluateRecipe(Config):
    """How every model is measured on the held-out items."""

    k: int = Field(default=8, ge=2)
    """Votes, in an order of their own each."""
    k_meta: int | None = Field(default=None, ge=1)
    """Votes that the meta RM keeps of all; half of them without it."""
    temperature: FiniteFloat = Field(default=0.5, gt=0)
    """Of the votes; the greedy pass is one of its own."""
    max_new_tokens: int = Field(default=512, ge=1)
    """Most tokens of a text."""

    @model_validator(mode="after")
    def _few_enough(self) -> Self:
        if self.k_meta is not None and self.k_meta > self.k:
            raise ValueError(f"k_meta {self.k_meta} is more than k {self.k}")
        return self


class EngineRecipe(Config):
    """Who answers. One SGLang server serves a whole call: each stage's weights are loaded into it."""

    kind: Literal["embedded", "sglang", "fake"] = "embedded"
    options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Options of the engine."""
    concurrency: int = Field(default=32, ge=1)
    """Judgments at the same time."""


class AblationRecipe(Config):
    """A variation of the main line. It shares every stage that is the same."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    about: str = ""
    """What the table calls it."""
    until: Model = "rl"
    """Which model is measured: the one after this stage."""
    against: Model | None = None
    """Which model of the main line it is compared with; the same one unless said."""
    skip_sft: bool = False
    """Reinforce the cold model, without fine-tuning on what was sampled."""
    paper: str | None = None
    """The row of the paper's ablation table beside it."""
    set: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Settings of the recipe that are others here, by dotted names: {"rft.hint" = false}."""


class SpctRecipe(Config):
    """A run."""

    base: str = Field(default="smollm2-135m-instruct", min_length=1)
    """The model to make a judge of."""
    judge: Literal["pointwise", "pairwise"] = "pointwise"
    """pointwise: the GRM of the paper; pairwise: its baseline, LLM-as-a-Judge."""
    language: Literal["en", "zh"] = "en"
    """Of items and prompts."""
    principles: str | None = None
    """A file of principles that the pointwise judge is given, instead of writing its own."""
    leave_out: tuple[str, ...] = ()
    """Sources that are not trained on."""
    seed: int = Field(default=0, ge=0)
    items: ItemsRecipe = Field(default_factory=ItemsRecipe)
    cold: ColdRecipe = Field(default_factory=ColdRecipe)
    rft: RftRecipe = Field(default_factory=RftRecipe)
    sft: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Flags of assay sft, on the rows of rejection sampling."""
    rl: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Flags of assay train."""
    meta: MetaRecipe = Field(default_factory=MetaRecipe)
    evaluate: EvaluateRecipe = Field(default_factory=EvaluateRecipe)
    engine: EngineRecipe = Field(default_factory=EngineRecipe)
    ablation: tuple[AblationRecipe, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        wrong = [name for name in self.leave_out if name not in self.items.sources]
        if wrong:
            raise ValueError(f"leave_out {wrong[0]!r} is none of the sources {', '.join(self.items.sources)}")
        if not self.trained_on:
            raise ValueError("leave_out names every source, so that nothing is trained on")
        if set(self.items.shapes) == {"single"}:
            raise ValueError("items.shapes: a judge is measured on pairs and more, so it must be trained on some")
        if self.principles is not None and self.judge != "pointwise":
            raise ValueError("principles are for the pointwise judge")
        if "seed" in self.rft.model_fields_set:
            raise ValueError("rft.seed: the seed stands at the top of the recipe")
        if (self.rft.ratio > 0) and not self.items.general:
            raise ValueError("rft.ratio mixes general rows in, and items.general asks for no prompts")
        names = [one.name for one in self.ablation]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"two ablations are called {twice[0]!r}")
        unknown = [one.paper for one in self.ablation if one.paper not in (None, *ABLATIONS)]
        if unknown:
            raise ValueError(f"ablation.paper {unknown[0]!r} is none of the paper's rows: {', '.join(ABLATIONS)}")
        self._check_training()
        return self

    def _check_training(self) -> None:
        """Every flag of training, before anything begins."""
        sections: tuple[tuple[str, type[Config], Mapping[str, Any], dict[str, Any]], ...] = (
            ("cold.sft", SftConfig, self.cold.sft, {**SFT, "data": "x"}),
            ("sft", SftConfig, self.sft, {**SFT, "data": "x"}),
            ("meta.rm", HeadConfig, self.meta.rm, {**META, "kind": "meta", "data": "x"}),
            ("rl", TrainConfig, self.rl, {**RL, "prompt_data": "x", "rm_type": "grm-outcome"}),
        )
        for name, kind, said, given in sections:
            owned = _SET | _SET_RL if name == "rl" else _SET
            taken = sorted(owned & said.keys())
            if taken:
                raise ValueError(f"{name}: {taken[0]!r} is set by the pipeline; leave it out")
            try:
                kind(**{**given, **said})
            except ValidationError as error:
                raise ValueError(f"{name}: {explain(error)}") from None

    @property
    def trained_on(self) -> tuple[str, ...]:
        """The sources that are trained on."""
        return tuple(name for name in self.items.sources if name not in self.leave_out)
