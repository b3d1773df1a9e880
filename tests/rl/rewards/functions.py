"""Reward functions of a user, written as for Relax and slime; but for the import of the client nothing is ours."""

import asyncio
import threading

from assay.client import get_genrm_client

HANG = threading.Event()
GATE = threading.Event()
MEETING = threading.Barrier(8)
seen_threads = []


async def reward_func(args, sample, **kwargs):
    """Two judges, asked by their route keys, made into one score (the seeds' example of several judges)."""
    client = get_genrm_client()
    quality, safety = await asyncio.gather(
        client.generate(
            messages=[{"role": "user", "content": f"Judge correctness of {sample.response}"}], route_key="quality"
        ),
        client.generate(
            messages=[{"role": "user", "content": f"Judge safety of {sample.response}"}], route_key="safety"
        ),
    )
    is_right = 1.0 if quality.strip() == "1" else 0.0
    is_safe = 1.0 if safety.strip() == "1" else 0.0
    return {"score": is_right * is_safe, "quality": is_right, "safety": is_safe}


MODULE_TO_ROUTE_KEY = {
    "plan": "planner_judge",
    "tool_call": "tool_call_judge",
    "final_answer": "final_answer_judge",
}


async def agentic_reward_func(args, sample, **kwargs):
    """Each step by the judge of its module (the seeds' agentic example)."""
    client = get_genrm_client()
    scores = []
    for step in sample.metadata["trajectory_steps"]:
        said = await client.generate(
            messages=[{"role": "user", "content": step["content"]}], route_key=MODULE_TO_ROUTE_KEY[step["module"]]
        )
        scores.append(1.0 if said.strip() == "1" else 0.0)
    return {"score": sum(scores) / len(scores)}


async def unknown_judge(args, sample):
    return float(await get_genrm_client().generate([{"role": "user", "content": "hi"}], route_key="nobody"))


def length(args, sample):
    seen_threads.append(threading.current_thread().name)
    sample.reward = 99.0
    sample.metadata["seen"] = True
    return len(sample.response) / args.rollout_max_response_len


def all_at_once(args, sample):
    """Returns when eight of them run and the event loop, which opens the gate, runs too."""
    MEETING.wait(30)
    return float(GATE.wait(30))


def hangs(args, sample):
    HANG.wait(30)
    return 1.0


def uses_the_sync_way(args, sample):
    return float(asyncio.run(_ask()))


async def _ask():
    client = get_genrm_client()
    try:
        return await client.generate([{"role": "user", "content": "hi"}], route_key="quality")
    finally:
        await client.close()


def raises(args, sample):
    raise KeyError("label")


async def sometimes(args, sample):
    if sample.index % 2:
        raise ValueError("odd")
    return 1.0


def leaves(args, sample):
    raise SystemExit(3)


def best_of_group(args, samples, **kwargs):
    longest = max(len(sample.response) for sample in samples)
    return [float(len(sample.response) == longest) for sample in samples]


def too_few(args, samples):
    return [1.0]


async def total(scores, steps):
    return sum(scores) * len(steps)


def custom_reward_post_process(args, samples):
    """As the seeds' hook: writes the real rewards into the samples, and returns them raw and normalised by group."""
    reward_key = getattr(args, "reward_key", None)
    raw = [float(len(sample.response)) for sample in samples]
    for sample, score in zip(samples, raw, strict=True):
        assert isinstance(sample.metadata, dict)
        sample.reward = {reward_key: score} if reward_key else score
        sample.metadata["raw_reward"] = score
    n = args.n_samples_per_prompt
    means = [sum(raw[at : at + n]) / n for at in range(0, len(raw), n) for _ in range(n)]
    return raw, [score - mean for score, mean in zip(raw, means, strict=True)]


async def only_rewards(args, samples):
    return [1.0 if sample.label == sample.response else 0.0 for sample in samples]


async def judged_in_batch(args, samples):
    client = get_genrm_client()
    said = await asyncio.gather(
        *(client.generate([{"role": "user", "content": s.response}], route_key="quality") for s in samples)
    )
    return [1.0 if text == "1" else 0.0 for text in said]


NOT_A_FUNCTION = 3


def wrong_arguments(sample):
    return 1.0


async def takes_out(args, sample):
    sample.remove_sample = sample.index == 1
    return 0.0


def takes_all_out(args, samples):
    for sample in samples:
        sample.remove_sample = True
    return [0.0 for _ in samples]


def lines_as_steps(args, sample):
    lines = [line.split(": ", 1) for line in sample.response.split("\n")]
    return [{"module": module, "response": done, "label": sample.label} for module, done in lines]


async def no_steps(args, sample):
    raise ValueError("this is no trajectory")
