"""The adapters, called as TRL, verl and OpenRLHF call reward functions, against a real service."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from assay.client import get_genrm_client
from assay.client.adapters import JudgeScores, JudgmentFailed, openrlhf_reward, trl_reward, verl_reward
from assay.core.errors import InputError
from assay.core.types import ChatPrompt, Failure, FailureKind, Request
from assay.engines.fake.engine import FakeEngine
from assay.judges import build_all
from assay.scoring.scorer import Scorer
from assay.service.app import create_app
from assay.service.hub import Hub
from assay.service.server import running
from assay.service.settings import ServiceSettings

SETTINGS = ServiceSettings(port=0, drain_s=1)
CHAT = [{"role": "user", "content": "2+2?"}]


def judge(request: Request, index: int) -> str:
    assert isinstance(request.prompt, ChatPrompt)
    text = request.prompt.messages[-1].text
    return "I cannot say." if "zqbroken" in text else "1" if "zqright" in text else "0"


@asynccontextmanager
async def serving() -> AsyncGenerator[JudgeScores]:
    scorer = Scorer(FakeEngine(reply=judge), reask=0)
    hub = Hub(instances={"__default__": scorer}, judges={one.name: one for one in build_all()})
    async with running(create_app(hub, SETTINGS), SETTINGS) as url:
        try:
            yield JudgeScores(url=url)
        finally:
            await get_genrm_client(url).close()


def test_scores_and_failures() -> None:
    async def run() -> None:
        async with serving() as scores:
            found = await scores.many(["2+2?", CHAT, "2+2?"], ["zqright", "zqwrong", "zqbroken"], ["4", "4", "4"])
            assert found[:2] == [1.0, 0.0]
            assert isinstance(found[2], Failure)
            assert found[2].kind is FailureKind.PARSE_ERROR
            with pytest.raises(InputError, match=r"refuses.*no reference"):
                await scores.one("2+2?", "zqright")
            with pytest.raises(InputError, match="No judge named 'nobody'"):
                await JudgeScores(judge="nobody", url=scores.url).one("q", "a", "r")

    asyncio.run(run())


def test_a_service_that_is_not_there_is_a_failure() -> None:
    async def run() -> None:
        nobody = JudgeScores(url="http://127.0.0.1:9/genrm", deadline_s=0.5)
        assert isinstance(await nobody.one("q", "a", "r"), Failure)
        await get_genrm_client(nobody.url).close()

    asyncio.run(run())


def test_trl_gets_none_for_a_judgment_that_failed() -> None:
    async def run() -> None:
        async with serving() as scores:
            reward = trl_reward(scores, reference="solution")
            assert inspect.iscoroutinefunction(reward)
            assert reward.__name__ == "judge_reward"
            texts = await reward(
                prompts=["q", "q"], completions=["zqright", "zqbroken"], completion_ids=[[1], [2]], solution=["4", "4"]
            )
            chats = await reward(
                prompts=[CHAT],
                completions=[[{"role": "assistant", "content": "zqwrong"}]],
                solution=[4],
                trainer_state=None,
            )
            assert (texts, chats) == ([1.0, None], [0.0])
            with pytest.raises(InputError, match=r"no column 'solution'.*it has \['label'\]"):
                await reward(prompts=["q"], completions=["zqright"], label=["4"])

    asyncio.run(run())


def test_verl_gets_a_dict_or_an_error_that_names_the_failure() -> None:
    async def run() -> None:
        async with serving() as scores:
            compute_score = verl_reward(scores)
            assert inspect.iscoroutinefunction(compute_score)
            row = {"data_source": "dapo", "ground_truth": "4", "extra_info": {"question": "2+2?"}}
            assert await compute_score(solution_str="zqright", **row) == {"score": 1.0, "judge_failed": 0.0}
            with pytest.raises(JudgmentFailed, match=r"parse_error.*failure_as"):
                await compute_score(solution_str="zqbroken", **row)
            lenient = verl_reward(scores, failure_as=-1.0)
            assert await lenient(solution_str="zqbroken", **row) == {"score": -1.0, "judge_failed": 1.0}
            with pytest.raises(InputError, match="extra_info has no 'question'"):
                await compute_score("dapo", "zqright", "4", {"index": 1})

    asyncio.run(run())


def test_openrlhf_gets_tensors_also_where_a_loop_is_running() -> None:
    torch = pytest.importorskip("torch")

    async def run() -> None:
        async with serving() as scores:
            reward_func = openrlhf_reward(scores, failure_as=0.0)
            prompt = "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"
            queries = [f"{prompt}{text}<|im_end|>" for text in ("zqright", "zqwrong", "zqbroken")]
            # In a thread, for the service runs in this loop.
            told = await asyncio.to_thread(lambda: asyncio.run(_within(reward_func, queries, [prompt] * 3)))
            assert torch.equal(told["rewards"], torch.tensor([1.0, 0.0, 0.0]))
            assert torch.equal(told["scores"], told["rewards"])
            assert torch.equal(told["extra_logs"]["judge_failed"], torch.tensor([0.0, 0.0, 1.0]))

    asyncio.run(run())


async def _within(reward_func, queries: list[str], prompts: list[str]):
    return reward_func(queries, prompts, ["4"] * len(queries))
