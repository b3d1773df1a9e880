"""From an engine's completion to the words that may hold a verdict, and to the right failure where they hold none.

Owns: thinking blocks, cut-off, aborted, empty and refusing replies. Does not own: what a verdict is (``scores``).

Thinking: ``<think>…</think>`` is left out; an end tag without a start tag ends a block that the chat template opened,
so all before it is left out; a block that never ends means that the reply was cut off before it said anything.
Cut off (``finish_reason`` "length"): no verdict -> ``truncated``. A verdict with an end of its own (a closed box) stays
and is flagged ``cut_off``; a bare ``1`` may be the start of ``10``, so it is ``truncated``, unless ``lenient``.
Refusals are looked for only where there is no verdict, and only at the start of the reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from assay.core.types import Completion, Failure, FailureKind, Outcome, Verdict

_CLOSE = "</think>"
_TAG = re.compile("</?think>")
_HEAD = 240
"""How far into a reply a refusal is looked for, in characters."""
_REFUSAL = re.compile(
    r"(?:(?:i'm|i am|we're|we are)? ?(?:very |so |truly )?(?:sorry|afraid)|i apologi[sz]e|my apologies|unfortunately)?"
    r"[,.!;: ]{0,3}(?:but |as an ai[a-z ]{0,30}, ?)?"
    r"(?:i|we) (?:can't|cannot|can not|won't|will not|(?:must )?decline|(?:am|are) (?:unable|not able|not comfortable))"
    r"(?: to| be able to)?(?: [a-z]+){0,2}? ?"
    r"(?:assist|help|comply|fulfil|provid|continu|evaluat|judg|rat|scor|answer|engag|participat|do (?:that|this|so))"
)
_REFUSAL_ZH = re.compile(
    r"(?:(?:非常|很|十分)?(?:抱歉|对不起|不好意思|遗憾))?[,，。!！ ]{0,2}(?:但是?|作为[^,，。]{0,20}[,，])?我?(?:们)?"
    r"(?:无法|不能|没法|拒绝)(?:为您|为你|对此|对该|继续|就此)?(?:提供|协助|帮助|回答|评价|评判|评分|打分|满足|完成|继续|处理|讨论)"
)


def spoken(text: str) -> str | Failure:
    """``text`` outside its thinking blocks, stripped; a ``truncated`` failure when the last block never ends."""
    kept: list[str] = []
    at, thinking = 0, False
    for tag in _TAG.finditer(text):
        if tag.group() == _CLOSE:
            if not thinking:
                kept.clear()
            thinking, at = False, tag.end()
        elif not thinking:
            kept.append(text[at : tag.start()])
            thinking, at = True, tag.end()
    if thinking:
        detail = f"the thinking block never ends ({len(text) - at} characters): raise max_new_tokens"
        return Failure(kind=FailureKind.TRUNCATED, detail=detail, text=text)
    return "\n".join((*kept, text[at:])).strip()


def unread(text: str, said: str, detail: str) -> Failure:
    """The failure for a reply ``text`` whose spoken part ``said`` holds no verdict, for the reason in ``detail``."""
    if not said:
        return Failure(kind=FailureKind.PARSE_ERROR, detail="the reply is empty", text=text)
    if refuses(said):
        return Failure(kind=FailureKind.REFUSED, detail=f"the judge refused: {said[:100]!r}", text=text)
    return Failure(kind=FailureKind.PARSE_ERROR, detail=detail, text=text)


def refuses(said: str) -> bool:
    """Whether a reply opens with an obvious refusal. Asked only of replies without a verdict."""
    head = said[:_HEAD].lower().replace("’", "'").lstrip("*_ \"'")
    head = head.replace("i'm unable", "i am unable").replace("i'm not able", "i am not able")
    return _REFUSAL.match(head) is not None or _REFUSAL_ZH.match(head) is not None


def read_reply(completions: Sequence[Completion], parse: Callable[[str], Outcome], *, has_end: bool) -> Outcome:
    """What ``parse`` makes of the one completion of a request, in the light of how the completion ended.

    ``has_end``: a verdict of this kind shows where it ends, so that it survives a cut-off.
    """
    if len(completions) != 1:
        detail = f"expected one completion, the engine returned {len(completions)}"
        return Failure(kind=FailureKind.ENGINE_ERROR, detail=detail)
    (completion,) = completions
    text = completion.text
    if completion.finish_reason == "abort":
        detail = f"the engine aborted the reply after {len(text)} characters"
        return Failure(kind=FailureKind.CANCELLED, detail=detail, text=text)
    outcome = parse(text)
    if completion.finish_reason == "stop" or outcome_is(outcome, FailureKind.TRUNCATED):
        return outcome
    if isinstance(outcome, Verdict) and has_end:
        return replace(outcome, flags=(*outcome.flags, "cut_off"))
    why = outcome.detail if isinstance(outcome, Failure) else f"{text.strip()[-40:]!r} may not be the whole of it"
    detail = f"cut off at the token limit ({why}): raise max_new_tokens"
    return Failure(kind=FailureKind.TRUNCATED, detail=detail, text=text)


def outcome_is(outcome: Outcome, kind: FailureKind) -> bool:
    """Whether ``outcome`` is a failure of that kind."""
    return isinstance(outcome, Failure) and outcome.kind is kind
