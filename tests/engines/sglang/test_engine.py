"""The engine over a real child process that answers as SGLang does."""

import asyncio
import os
from dataclasses import replace

import pytest

from assay.core.deadline import Deadline
from assay.core.errors import GenerationError, InputError, StartError
from assay.core.types import ChatPrompt, Completion, FailureKind, Message, Request
from assay.engines.base import Delta, Offloadable, StreamingEngine, Updatable
from assay.engines.sglang.engine import SGLangEngine

from .conftest import Bench, alive, ask, chat, tokens, until


async def collect(engine: SGLangEngine, request: Request) -> list[Delta]:
    return [delta async for delta in engine.stream(request, Deadline.after(10))]


async def failure(engine: SGLangEngine, request: Request, seconds: float = 10) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        await engine.generate(request, Deadline.after(seconds))
    return caught.value


def test_it_answers_chats_and_token_prompts(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine() as engine:
            assert isinstance(engine, StreamingEngine)
            assert isinstance(engine, Offloadable)
            assert isinstance(engine, Updatable)
            info = engine.info
            assert (info.model, info.context_len, info.num_gpus) == (str(bench.model), 512, 1)
            assert len(info.weight_version) == 12
            assert "images" not in info.capabilities

            one = await ask(engine, chat())
            assert (one.finish_reason, one.completion_tokens, one.seed) == ("stop", 4, None)
            assert (one.model, one.weight_version) == (str(bench.model), info.weight_version)
            assert one.cached_tokens == one.prompt_tokens // 2 > 0

            three = await engine.generate(replace(chat(logprobs=2), n=3), Deadline.after(10))
            assert [each.index for each in three] == [0, 1, 2]
            for each in three:
                assert each.logprobs is not None
                assert each.top_logprobs is not None
                assert len(each.token_ids) == len(each.logprobs) == len(each.top_logprobs) == 4

            native = await ask(engine, tokens(10, 20, 30, logprobs=0))
            assert "".join(chr(token - 1) for token in native.token_ids) == native.text
            assert native.top_logprobs is None
            assert (await ask(engine, tokens(10, 20, 30, max_new_tokens=2))).finish_reason == "length"

            health = await engine.health()
            assert (health.healthy, health.state) == (True, "ready")
            rids = [body["rid"] for path in ("/v1/chat/completions", "/generate") for body in bench.calls(path)]
            assert len(set(rids)) == len(rids) == 4

    asyncio.run(main())


def test_it_streams_both_routes(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(reasoning_parser="qwen3") as engine:
            whole = await ask(engine, chat("CLOSE"))
            assert whole.text.startswith("<think>")
            deltas = await collect(engine, chat("CLOSE"))
            assert "".join(delta.text for delta in deltas) == whole.text
            assert deltas[-1].finish_reason == "stop"
            assert len(deltas) > 2

            cut = await collect(engine, chat(max_new_tokens=3))
            assert "".join(delta.text for delta in cut) == "<think>" + "".join(d.text for d in cut)[7:]
            assert cut[-1].finish_reason == "length"

            native = await collect(engine, tokens(10, 20, logprobs=0))
            assert "".join(delta.text for delta in native) == (await ask(engine, tokens(10, 20))).text
            assert sum(len(delta.logprobs or ()) for delta in native) == 4

            long = await collect(engine, chat("x" * 100, max_new_tokens=500))
            assert long[-1].finish_reason == "stop", "a reply that would not fit is asked for again, shorter"

            begun = engine.stream(chat("SLOW", max_new_tokens=400), Deadline.after(10))
            await anext(begun)
            await begun.aclose()
            await until(lambda: len(bench.calls("/abort_request")) == 1)
            assert bench.calls("/abort_request")[0]["rid"] == bench.calls("/v1/chat/completions")[-1]["rid"]

    asyncio.run(main())


def test_choices_are_scored_whole_with_their_mass(bench: Bench) -> None:
    def told(ids: list[int], token: int) -> float:
        return -((sum(ids) * 31 + len(ids) * 7 + token * 13) % 97 + 1) / 20

    async def main() -> None:
        async with bench.engine() as engine:
            prompt = [5, 6, 7]
            one, zero, yes = 50, 49, [122, 102, 116]  # "1", "0" and "yes" as this tokenizer writes them
            request = replace(tokens(*prompt), choices=("1", "0", "yes"))
            found: Completion = await ask(engine, request)
            each = [
                told(prompt, one),
                told(prompt, zero),
                sum(told([*prompt, *yes[:place]], token) for place, token in enumerate(yes)),
            ]
            assert found.choice_logprobs == pytest.approx(each)
            assert found.mass == pytest.approx(sum(2.718281828459045**value for value in each))
            best = max(range(3), key=each.__getitem__)
            assert found.text == ("1", "0", "yes")[best]
            assert found.prompt_tokens == 3

            spoken = await ask(engine, replace(chat("Is it so?"), choices=("1", "0")))
            rendered = [byte + 1 for byte in b"<user>Is it so?<assistant>"]
            assert spoken.choice_logprobs == pytest.approx([told(rendered, one), told(rendered, zero)])
            again = len(bench.calls("/tokenize"))
            await ask(engine, replace(chat("Is it so?"), choices=("0", "1")))
            assert len(bench.calls("/tokenize")) == again + 1, "the replies' own ids are remembered"
            (delta,) = await collect(engine, request)
            assert (delta.text, delta.finish_reason) == (found.text, "stop")

            for choices in (("1", "1"), ("", "0"), ()):
                error = await failure(engine, replace(tokens(5), choices=choices))
                assert error.kind is FailureKind.BAD_REQUEST
            error = await failure(engine, replace(tokens(*[5] * 510), choices=("yes",)))
            assert error.kind is FailureKind.CONTEXT_OVERFLOW

    asyncio.run(main())


def test_failures_are_typed(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(max_running_requests=1, max_queued_requests=1) as engine:
            error = await failure(engine, chat("x" * 600))
            assert error.kind is FailureKind.CONTEXT_OVERFLOW
            assert "tokens and the context holds 512" in error.detail
            assert (await failure(engine, chat(temperature=-1.0))).kind is FailureKind.BAD_REQUEST

            fits = await ask(engine, chat("x" * 100, max_new_tokens=500))
            assert fits.finish_reason == "stop"

            five = [engine.generate(chat("SLOW", max_new_tokens=20), Deadline.after(10)) for _ in range(5)]
            found = await asyncio.gather(*five, return_exceptions=True)
            refused = [one for one in found if isinstance(one, GenerationError)]
            assert {error.kind for error in refused} == {FailureKind.OVERLOADED}
            assert len(refused) == 3
            assert refused[0].retry_after == 1.0
            assert not bench.calls("/abort_request"), "what was answered is not aborted"

    asyncio.run(main())


def test_who_leaves_or_runs_out_of_time_is_aborted_by_his_own_id(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine() as engine:
            slow = chat("SLOW", max_new_tokens=400)
            stays = asyncio.create_task(engine.generate(chat("SLOW", max_new_tokens=30), Deadline.after(10)))
            error = await failure(engine, slow, seconds=0.1)
            assert error.kind is FailureKind.TIMEOUT
            leaves = asyncio.create_task(engine.generate(slow, Deadline.after(10)))
            await until(lambda: len(bench.calls("/v1/chat/completions")) == 3)
            leaves.cancel()
            with pytest.raises(asyncio.CancelledError):
                await leaves
            await until(lambda: len(bench.calls("/abort_request")) == 2)
            sent = [body["rid"] for body in bench.calls("/v1/chat/completions") if body["max_completion_tokens"] == 400]
            assert bench.calls("/abort_request") == [{"rid": rid} for rid in sent]
            assert len((await stays)[0].text) == 30, "the others go on"
            assert (await engine.health()).detail["aborted"] == 2

    asyncio.run(main())


def test_seeds_make_samples_that_repeat_in_deterministic_mode(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(deterministic=True) as engine:
            assert engine.info.batch_invariant
            three = replace(chat(seed=7), n=3)
            found = await engine.generate(three, Deadline.after(10))
            assert [one.seed for one in found] == [7, 8, 9]
            assert [one.index for one in found] == [0, 1, 2]
            assert len({one.text for one in found}) == 3
            assert (await ask(engine, chat(seed=8))).text == found[1].text
            deltas = await collect(engine, three)
            assert [delta.text for delta in deltas] == [one.text for one in found]

    asyncio.run(main())


def test_grammars_constrain_and_are_never_ignored_in_silence(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine(regex="[1-9]|10", reasoning_parser="qwen3") as engine:
            error = await failure(engine, chat())
            assert error.kind is FailureKind.BAD_REQUEST
            assert "while the model thinks" in error.detail
            assert (await ask(engine, chat(chat_template_kwargs={"enable_thinking": False}))).text == "7"
            assert (await ask(engine, tokens(1, 2))).text == "7"

    asyncio.run(main())


def test_a_start_that_fails_shows_the_end_of_the_servers_own_log(bench: Bench) -> None:
    async def main() -> None:
        with pytest.raises(
            StartError, match=r"(?s)ended with status 1\..*Loaded weights leave no GPU memory"
        ) as caught:
            async with bench.engine(env={"DOUBLE_START": "fail"}):
                pass
        assert str(bench.log) in str(caught.value)
        with pytest.raises(StartError, match=r"(?s)not ready after 2 s.*Load weight begin") as caught:
            async with bench.engine(env={"DOUBLE_START": "hang"}, start_timeout_s=2):
                pass
        assert "no GPU memory" not in str(caught.value), "that is what an earlier server said"

    asyncio.run(main())


def test_a_model_that_is_not_there_is_a_wrong_input(bench: Bench) -> None:
    async def main() -> None:
        with pytest.raises(InputError, match=r"'/no/such/model': there is no such folder"):
            async with bench.engine(model="/no/such/model"):
                pass

    asyncio.run(main())


def test_a_share_of_the_card_is_converted_to_what_is_free(bench: Bench) -> None:
    bench.cards.set(neighbour=10 << 30)

    async def main() -> None:
        async with bench.engine(mem_fraction_static=0.4):
            assert "'mem_fraction_static': 0.8," in bench.log.read_text()
        with pytest.raises(StartError, match=r"mem_fraction_static=0.6 of GPU 0 is 12.0 GiB, and 10.0 of its 20.0"):
            async with bench.engine(mem_fraction_static=0.6):
                pass

    asyncio.run(main())


def test_closing_leaves_no_process_and_turns_requests_away(bench: Bench) -> None:
    async def main() -> None:
        engine = SGLangEngine(bench.config(), bench.cards)
        assert (await engine.health()).state == "stopped"
        assert "await start() first" in (await failure(engine, chat())).detail
        starting = asyncio.create_task(engine.start())
        await asyncio.sleep(0)
        assert (await engine.health()).state == "starting"
        await starting
        await engine.start()
        running = engine._running
        assert running is not None
        pids = running.parts.process.pids
        assert len(pids) == 2
        late = asyncio.create_task(failure(engine, chat("SLOW", max_new_tokens=400)))
        await until(lambda: engine._gate.inside == 1)
        await engine.close()
        assert (await late).detail == "the engine was closed"
        assert not any(alive(pid) for pid in pids)
        await engine.close()
        assert (await failure(engine, chat())).kind is FailureKind.ENGINE_ERROR

    asyncio.run(main())


def test_a_conversation_keeps_its_turns(bench: Bench) -> None:
    said = [("system", "s"), ("user", "u"), ("assistant", "a")]
    turns = tuple(Message(role=role, content=text) for role, text in said)

    async def main() -> None:
        async with bench.engine() as engine:
            await ask(engine, replace(chat(), prompt=ChatPrompt(messages=turns)))
        (body,) = bench.calls("/v1/chat/completions")
        assert [(one["role"], one["content"]) for one in body["messages"]] == said

    asyncio.run(main())


def test_signals_of_the_terminal_do_not_reach_the_server(bench: Bench) -> None:
    async def main() -> None:
        async with bench.engine() as engine:
            assert engine._running is not None
            groups = {os.getpgid(pid) for pid in engine._running.parts.process.pids}
            assert os.getpgrp() not in groups
            assert len(groups) == 1

    asyncio.run(main())
