"""The flags of rewards, under the names that Relax and slime give them. Data and checks only; ``build`` obeys them."""

from __future__ import annotations

import logging
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from assay.core.config import Config, explain
from assay.wire.voting import VotingFields

from .failures import JudgeFailureAs

log = logging.getLogger(__name__)

RmType = Literal["dapo-genrm", "math", "judge", "grm-outcome", "dummy"]


class RewardVoting(VotingFields):
    """How a judge votes on a reward; the options of ``/score``."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class PartConfig(Config):
    """One of several rewards that make one (``reward_parts``)."""

    weight: FiniteFloat = 1.0
    """What its value is multiplied by; a negative one makes it a penalty."""
    required: bool = True
    """Whether a failure of it is a failure of the whole; an optional one is left out, its weight shared by the rest."""
    rm_type: RmType | None = None
    judge: str | None = None
    judge_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    route_key: str | None = None
    custom_rm_path: str | None = None
    group_rm: bool = False
    reward_key: str | None = None


class StepConfig(Config):
    """The judge of one module's steps (``step_judges``)."""

    judge: str = "pointwise"
    judge_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    route_key: str | None = None


class RewardConfig(Config):
    """What an answer of the policy earns, and who says so."""

    rm_type: RmType | None = None
    """dapo-genrm, math, judge (see --judge), dummy, or grm-outcome: the policy itself is a judge, and earns 1 for a
    right verdict, -1 for any other answer."""
    judge: str | None = None
    """A judge by name, or the path of its TOML file; its score is the reward."""
    judge_options: dict[str, Any] = Field(default_factory=dict[str, Any])
    """JSON: options of the judge."""
    route_key: str | None = None
    """Which instance of the judge service is asked."""
    genrm_url: str | None = None
    """The judge service; else ASSAY_GENRM_URL, else http://localhost:8000/genrm."""
    custom_rm_path: str | None = None
    """A reward function of your own: module.fn or path/to/file.py:fn, called with (args, sample)."""
    group_rm: bool = False
    """Give the reward function, or the judge, all answers to a prompt at once."""
    reward_key: str | None = None
    """Which entry of a dict of rewards is the reward."""
    reward_parts: dict[str, PartConfig] = Field(default_factory=dict[str, PartConfig])
    """JSON: several rewards by name, added up: {name: {judge, route_key, weight, required, ...}}."""
    step_judges: dict[str, StepConfig] = Field(default_factory=dict[str, StepConfig])
    """JSON: the judge of each module in metadata["trajectory_steps"]: {module: {judge, route_key}}; "*": any other."""
    custom_steps_path: str | None = None
    """A function of your own that cuts an answer into steps: fn(args, sample) gives what metadata["trajectory_steps"]
    would hold, for --step-judges."""
    step_aggregate: str = "mean"
    """What the scores of the steps come to: mean, min, last, or a function of yours (module.fn)."""
    reward_voting: RewardVoting | None = None
    """JSON: votes of the judges: {"k": 8, "reduce": "mean", "stop": "certain", ...}."""
    reward_seed: int = Field(default=0, ge=0)
    """Another seed gives independent draws of the judges."""
    grm_readable_bonus: FiniteFloat = Field(default=0.0, ge=0)
    """With grm-outcome: what any verdict that can be read earns beside; the paper has no such reward."""
    reward_threads: int = Field(default=16, ge=1)
    """Calls of a reward function without async that run at a time."""
    judge_failure_as: JudgeFailureAs = "mask"
    """What a failed judgment is worth: mask (in no mean and no loss), zero, or raise."""
    max_judge_failure_rate: float = Field(default=0.2, ge=0, le=1)
    """The run stops when more of the last five steps' judgments failed."""
    judge_reask: int = Field(default=1, ge=0)
    """How often a judge whose text held no verdict is asked again."""
    defer_reward_to_post_process: bool = False
    """Judge the whole batch after its rollout, not each answer as it ends (defer-swap)."""
    custom_reward_post_process_path: str | None = None
    """A hook of your own on the whole batch: fn(args, samples) gives (raw_rewards, rewards), or rewards."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        said = [
            name
            for name, value in (
                ("custom_rm_path", self.custom_rm_path),
                ("reward_parts", self.reward_parts),
                ("step_judges", self.step_judges),
                ("judge", self.judge),
            )
            if value
        ]
        if len(said) > 1:
            raise ValueError(f"{' and '.join(said)} each say what the reward is; give one of them")
        if self.rm_type == "judge" and not self.judge:
            raise ValueError("rm_type 'judge' needs a judge: name one with --judge")
        if self.judge and self.rm_type in ("dapo-genrm", "math"):
            raise ValueError(f"rm_type {self.rm_type!r} has a judge of its own; leave judge {self.judge!r} out")
        if self.judge and self.rm_type == "grm-outcome":
            raise ValueError(f"rm_type 'grm-outcome' takes the judge of each prompt; leave judge {self.judge!r} out")
        if self.grm_readable_bonus and self.rm_type != "grm-outcome":
            raise ValueError(f"grm_readable_bonus {self.grm_readable_bonus:g} has no effect without grm-outcome")
        if self.judge and self.rm_type == "dummy" and not self.deferred:
            raise ValueError(f"rm_type 'dummy' asks no judge, so judge {self.judge!r} has no effect; leave one out")
        if self.custom_steps_path and not self.step_judges:
            raise ValueError(f"custom_steps_path {self.custom_steps_path!r} has no effect without step_judges")
        if self.step_judges and self.group_rm:
            raise ValueError("step_judges look at one trajectory at a time; leave group_rm out")
        if self.reward_parts and self.group_rm:
            raise ValueError("group_rm is said of each of the reward_parts that needs it, not of all of them")
        if "score" in self.reward_parts:
            raise ValueError("reward_parts: 'score' is the name of the sum; call the part otherwise")
        optional = [name for name, part in self.reward_parts.items() if not part.required]
        if optional and any(part.weight <= 0 for part in self.reward_parts.values()):
            raise ValueError(
                f"reward_parts: {optional[0]!r} is not required, so the others may have to share its weight: "
                "all weights must be above 0"
            )
        for name in self.reward_parts:
            self.part(name)
        if said and said[0] != "judge" and self.rm_type not in (None, "dummy"):
            log.warning("rm_type %r is ignored, because %s is set", self.rm_type, said[0])
        return self

    @property
    def deferred(self) -> bool:
        """Rewards come after the batch: from the hook, or from the built-in scoring."""
        return self.defer_reward_to_post_process

    def part(self, name: str) -> RewardConfig:
        """The flags as they are for one of ``reward_parts``.

        Raises:
            ValueError: they do not go together; the message names the part.
        """
        own = self.reward_parts[name].model_dump(exclude={"weight", "required"})
        shared = {key: getattr(self, key) for key in ("genrm_url", "reward_voting", "reward_seed", "reward_threads")}
        try:
            return RewardConfig(**own, **shared)
        except ValidationError as error:
            raise ValueError(f"reward_parts {name!r}: {explain(error)}") from error
