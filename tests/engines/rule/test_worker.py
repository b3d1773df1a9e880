"""The child by its pipes, with rules that misbehave on purpose."""

import json
import signal
import subprocess
import sys

import pytest

from assay.engines.rule.worker import EXIT_MEMORY

CHILD = """
from dataclasses import replace
from assay.engines.rule import rules, worker

def misbehave(arguments):
    code = arguments["code"]
    if code == "swallow":
        try:
            return str(len([bytearray(2**20) for _ in range(5000)]))
        except MemoryError:
            return "0"
    return str(eval(code))

worker.RULES = {"bad": replace(rules.RULES["math"], answer=misbehave, warm=lambda: None)}
worker.main({limit}, 256)
"""


def ask(*codes: str, limit: float = 20) -> tuple[list[dict[str, object]], int]:
    """The replies of a child to these questions, and how it ended."""
    questions = "".join(json.dumps({"rule": "bad", "arguments": {"code": code}}) + "\n" for code in codes)
    child = CHILD.replace("{limit}", str(limit))
    done = subprocess.run([sys.executable, "-c", child], input=questions, capture_output=True, text=True, check=False)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def test_it_answers_one_line_with_one_line_and_ends_with_its_input() -> None:
    assert ask("1 + 1", "2 + 2") == ([{"ready": True}, {"text": "2"}, {"text": "4"}], 0)


def test_what_a_rule_prints_does_not_reach_the_pipe() -> None:
    assert ask("print('noise')") == ([{"ready": True}, {"text": "None"}], 0)


@pytest.mark.parametrize("stuck", ["max(iter(int, 1))", "9**9**9"], ids=["in a loop", "inside C"])
def test_the_kernel_ends_what_takes_too_long(stuck: str) -> None:
    assert ask(stuck, limit=0.3) == ([{"ready": True}], -signal.SIGALRM)


@pytest.mark.parametrize(
    "greedy",
    ["len(bytearray(400 * 2**20))", "len(bytearray(2**40))", "swallow"],
    ids=["bound", "hard limit", "swallowed"],
)
def test_too_much_memory_is_a_failure_and_not_an_answer(greedy: str) -> None:
    assert ask(greedy) == ([{"ready": True}], EXIT_MEMORY)


def test_an_exception_is_reported_and_ends_the_child() -> None:
    replies, status = ask("1 // 0")
    assert replies[1] == {"error": "ZeroDivisionError: integer division or modulo by zero"}
    assert status == 1
