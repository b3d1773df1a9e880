"""What the fake engine draws, as pure functions of the request: which fault, which reply, what a text's tokens are."""

from __future__ import annotations

import math
import random
import zlib
from collections.abc import Mapping
from typing import Any, TypeVar

from assay.core.seeds import canonical, digest
from assay.core.types import ChatPrompt, Prompt, Request, RulePrompt, TokenLogprob

from .config import FakeConfig

Fault = TypeVar("Fault", bound=str)

VOCABULARY = 50_000
NOTHING = 1e-6
"""The probability of replies that the engine would not give."""
_GARBAGE = "#@~^%&*|;:?!<>\ufffd\u200b"


def request_key(request: Request, seed: int) -> str:
    """What every draw of a request follows from: the engine's seed, the prompt, and the seed of the sampling."""
    return digest([seed, _plain(request.prompt), request.sampling.seed])


def draw_fault(faults: Mapping[Fault, float], key: str) -> Fault | None:
    """The fault of a request, or None; ``faults`` are probabilities by name."""
    place = random.Random(f"{key}/fault").random()
    for name, probability in faults.items():
        if place < probability:
            return name
        place -= probability
    return None


def draw_latency(config: FakeConfig, key: str) -> float:
    """Seconds of a request, without faults."""
    if not config.latency_spread:
        return config.latency_s
    variance = math.log1p(config.latency_spread**2)
    draw = random.Random(f"{key}/latency").gauss(-variance / 2, math.sqrt(variance))
    return config.latency_s * math.exp(draw)


def draw_reply(config: FakeConfig, request: Request, key: str, index: int) -> str:
    """The text of sample ``index``, without faults, stop texts and length."""
    if config.replies == "echo":
        return last_text(request.prompt)
    if isinstance(config.replies, dict):
        shown = last_text(request.prompt)
        return next((reply for part, reply in config.replies.items() if part in shown), config.default)
    if config.replies:
        return random.Random(f"{key}/{index}").choice(config.replies)
    return config.default


def draw_garbage(key: str, index: int) -> str:
    """A text without a letter, a digit or a bracket: no parser may find a verdict in it."""
    return "".join(random.Random(f"{key}/garbage/{index}").choices(_GARBAGE, k=40))


def choice_logprobs(config: FakeConfig, choices: tuple[str, ...], reply: str) -> tuple[float, ...]:
    """ln P of each choice.

    As configured, the choices not named sharing what is left. With nothing configured the scripted reply gets nine
    tenths; if it is none of the choices, all of them together get a millionth.
    """
    named = {choice: config.choices[choice] for choice in choices if choice in config.choices}
    if not config.choices:
        named = {reply: 0.9} if reply in choices else {}
    rest = 1 - math.fsum(named.values()) if named else NOTHING
    share = max(rest, NOTHING) / max(1, len(choices) - len(named))
    return tuple(math.log(named.get(choice, share)) for choice in choices)


def last_text(prompt: Prompt) -> str:
    """The text of the last user message; token ids and rules in a form of their own."""
    if isinstance(prompt, ChatPrompt):
        turns = [message for message in prompt.messages if message.role == "user"] or prompt.messages
        return turns[-1].text if turns else ""
    if isinstance(prompt, RulePrompt):
        return f"{prompt.rule} {canonical(dict(prompt.arguments))}"
    return " ".join(map(str, prompt.token_ids))


def prompt_words(prompt: Prompt) -> int:
    """The length of a prompt: words count as tokens."""
    if isinstance(prompt, ChatPrompt):
        return sum(len(message.text.split()) for message in prompt.messages)
    return len(last_text(prompt).split())


def token_id(word: str) -> int:
    """A word's id: equal words, equal ids."""
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) % VOCABULARY


def word_logprobs(word: str, top: int) -> tuple[TokenLogprob, ...]:
    """The word and ``top`` - 1 alternatives, likeliest first; follows from the word."""
    own = -(1 + token_id(word) % 100) / 1000
    rest = 1 - math.exp(own)
    others = [
        TokenLogprob(token_id=(token_id(word) + n) % VOCABULARY, text=f"<{n}>", logprob=math.log(rest / 2**n))
        for n in range(1, top)
    ]
    return (TokenLogprob(token_id=token_id(word), text=word, logprob=own), *others)


def _plain(prompt: Prompt) -> Any:
    if isinstance(prompt, ChatPrompt):
        return [
            [turn.role, turn.content if isinstance(turn.content, str) else [dict(part) for part in turn.content]]
            for turn in prompt.messages
        ]
    if isinstance(prompt, RulePrompt):
        return [prompt.rule, dict(prompt.arguments)]
    return list(prompt.token_ids)
