"""Steps: what an update does to the weights, which passes it saves, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from assay.core.errors import AssayError, InputError
from assay.models.losses.config import PolicyLossConfig
from assay.training.batch import TrainBatch, TrainSequence
from assay.training.config import TrainerConfig
from assay.training.objective import NllObjective, PolicyObjective
from assay.training.trainer import Trainer

from .conftest import batch, tiny

KL = PolicyObjective(config=PolicyLossConfig(use_kl_loss=True, kl_loss_coef=0.1))


def trainer(**settings: Any) -> Trainer:
    return Trainer(TrainerConfig(**{"lr": 1e-3, **settings}), model=tiny(dtype=torch.float64))


def weights(t: Trainer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in t.named_tensors()}


def largest_gap(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
    assert a.keys() == b.keys()
    return max(float((a[name] - b[name]).abs().max()) for name in a)


@pytest.mark.parametrize("aggregation", ["token_mean", "sequence_mean"])
def test_micro_batches_change_nothing(aggregation: Any) -> None:
    objective = PolicyObjective(config=KL.config, aggregation=aggregation)
    whole, cut = (trainer(dtype="float64", max_tokens_per_micro_batch=n) for n in (4096, 12))
    for seed in range(3):
        a, b = (t.step(batch(seed), objective) for t in (whole, cut))
        assert b.updates[0].micro_batches > 3 > a.updates[0].micro_batches == 1
        assert a.loss == pytest.approx(b.loss, abs=1e-13)
        assert a.updates[0].terms == pytest.approx(b.updates[0].terms, abs=1e-12)
    assert largest_gap(weights(whole), weights(cut)) < 1e-12


def test_the_first_update_needs_no_pass_for_old_log_probs() -> None:
    told, saved = (trainer(dtype="float64") for _ in range(2))
    known = told.logprobs(batch().sequences)
    given = TrainBatch(
        sequences=tuple(replace(s, old_logprobs=o) for s, o in zip(batch().sequences, known, strict=True))
    )
    objective = PolicyObjective()
    a, b = told.step(given, objective), saved.step(batch(), objective)
    assert a.loss == pytest.approx(b.loss, abs=1e-14)
    assert b.updates[0].terms["ratio_mean"] == 1.0
    assert largest_gap(weights(told), weights(saved)) < 1e-12
    assert set(b.seconds) == {"old_logprobs", "forward", "backward", "optimizer"}


def test_later_updates_are_taken_against_the_policy_before_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    t = trainer(dtype="float64", global_batch_size=4)
    passed: list[tuple[TrainSequence, ...]] = []
    logprobs = t.logprobs
    monkeypatch.setattr(t, "logprobs", lambda s, which="actor": passed.append(tuple(s)) or logprobs(s, which))
    done = t.step(batch(), PolicyObjective())
    assert [u.samples for u in done.updates] == [4, 4, 4]
    assert [tuple(p) for p in passed] == [batch().sequences[4:]]
    assert done.updates[0].terms["ratio_mean"] == 1.0
    assert all(abs(u.terms["ratio_mean"] - 1.0) > 1e-6 for u in done.updates[1:])
    assert done.step == t.updates == 3


def test_failed_samples_thin_the_updates_instead_of_adding_one() -> None:
    sequences = batch(groups=4).sequences
    sizes = [[len(u) for u in TrainBatch(sequences=sequences[:n]).updates(8)] for n in (16, 15, 13, 9, 3)]
    assert sizes == [[8, 8], [7, 8], [6, 7], [9], [3]]


def test_a_sample_without_trained_tokens_changes_nothing() -> None:
    one, two = (trainer(dtype="float64") for _ in range(2))
    dead = replace(batch(9).sequences[0], loss_mask=(False,) * len(batch(9).sequences[0].response_ids))
    a = one.step(batch(), PolicyObjective(aggregation="sequence_mean"))
    b = two.step(TrainBatch(sequences=(dead, *batch().sequences)), PolicyObjective(aggregation="sequence_mean"))
    assert a.loss == pytest.approx(b.loss, abs=1e-14)
    assert largest_gap(weights(one), weights(two)) < 1e-13


def test_a_step_is_adamw_on_the_clipped_gradient() -> None:
    t = trainer(dtype="float64", lr=0.01, weight_decay=0.1, clip_grad=0.5)
    model = tiny(dtype=torch.float64)
    sequences = batch(masked=0.0).sequences
    total = sum(len(s.response_ids) for s in sequences)
    for s in sequences:
        ids = torch.tensor([[*s.prompt_ids, *s.response_ids]])
        logprobs = model(input_ids=ids).logits[0, :-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        (-logprobs[len(s.prompt_ids) - 1 :].sum() / total).backward()
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    done = t.step(TrainBatch(sequences=sequences), NllObjective())
    assert done.updates[0].grad_norm == pytest.approx(float(norm), rel=1e-9)
    assert done.updates[0].grad_norm > 0.5
    now = weights(t)
    for name, p in model.named_parameters():
        # The first step of Adam: both moments, corrected, are the gradient's own.
        decayed = before[name] * (1 - 0.01 * (0.1 if p.ndim > 1 else 0.0))
        torch.testing.assert_close(now[name], decayed - 0.01 * p.grad / (p.grad.abs() + 1e-8), atol=1e-7, rtol=0)


def test_learning_lowers_the_loss_and_versions_rise() -> None:
    t = trainer(lr=5e-3)
    versions, losses = [t.weight_version], []
    for _ in range(6):
        done = t.step(batch(masked=0.0), NllObjective())
        versions.append(done.weight_version)
        losses.append(done.loss)
    assert losses[-1] < losses[0] - 1
    assert versions == sorted(set(versions))
    assert len({v.split(".")[0] for v in versions}) == 1
    assert trainer(lr=5e-3).weight_version == versions[0] != trainer(lr=4e-3).weight_version


@pytest.mark.parametrize("place", ["copy", "offload"])
def test_the_reference_stays_as_the_policy_began(place: Any) -> None:
    t = trainer(dtype="float64", reference=place)
    began = t.logprobs(batch().sequences)
    first = t.step(batch(), KL)
    assert first.updates[0].terms["kl"] == 0.0
    second = t.step(batch(), KL)
    assert second.updates[0].terms["kl"] > 0
    assert t.logprobs(batch().sequences, "reference") == began != t.logprobs(batch().sequences)


def test_no_reference_is_refused_where_one_is_needed() -> None:
    t = trainer(reference="none")
    t.step(batch(), PolicyObjective())
    with pytest.raises(InputError, match="reference is 'none'"):
        t.step(batch(), KL)


def test_a_gradient_that_is_not_finite_is_dropped_and_told() -> None:
    t = trainer()
    before, version = weights(t), t.weight_version
    done = t.step(batch(), PolicyObjective(config=PolicyLossConfig(entropy_coef=1e308 * 10)))
    assert not done.updates[0].applied
    assert largest_gap(before, weights(t)) == 0.0
    assert t.weight_version == version
    assert t.step(batch(), PolicyObjective()).updates[0].applied


def test_asleep_it_trains_nothing() -> None:
    t, awake = trainer(), trainer()
    t.step(batch(), PolicyObjective())
    t.sleep()
    t.sleep()
    for call in (lambda: t.step(batch(), PolicyObjective()), lambda: t.logprobs(batch().sequences)):
        with pytest.raises(AssayError, match="asleep: call wake"):
            call()
    t.wake()
    awake.step(batch(), PolicyObjective())
    a, b = (x.step(batch(1), PolicyObjective()) for x in (t, awake))
    assert a.loss == b.loss
    assert largest_gap(weights(t), weights(awake)) == 0.0


def test_bad_sequences_are_refused_by_name() -> None:
    good = batch().sequences[0]
    for change, said in [
        ({"prompt_ids": ()}, "empty prompt"),
        ({"response_ids": (), "loss_mask": ()}, "empty response"),
        ({"loss_mask": (True,) * 50}, "loss_mask of a training sequence has 50 entries"),
        ({"advantage": float("nan")}, "advantage nan"),
        ({"rollout_logprobs": (float("-inf"),) * len(good.response_ids)}, "rollout_logprobs .* not finite"),
    ]:
        with pytest.raises(InputError, match=said):
            replace(good, **change)
    with pytest.raises(InputError, match="no token to learn from"):
        TrainBatch(sequences=(replace(good, loss_mask=(False,) * len(good.response_ids)),))
    half = replace(good, rollout_logprobs=(-1.0,) * len(good.response_ids))
    with pytest.raises(InputError, match="rollout_logprobs: 1 of 2 sequences"):
        trainer().step(TrainBatch(sequences=(half, good)), PolicyObjective())
