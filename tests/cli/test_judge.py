"""``assay judge`` as a process, as a person runs it: results, exit codes, messages, a kill in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

FAKE = ["--engine", "fake", "--judge", "verifier"]


def assay(*arguments: str, cwd: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments], cwd=cwd, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sums(n: int, start: int = 0) -> list[dict[str, object]]:
    return [
        {
            "id": f"q{i}",
            "prompt": f"{i} + 1?",
            "candidates": [f"Answer: {i + 1}", f"Answer: {i}"],
            "reference": str(i + 1),
            "gold": [1, 0],
        }
        for i in range(start, start + n)
    ]


def rows_of(path: Path) -> list[dict[str, object]]:
    return pq.read_table(path).to_pylist()


def test_the_math_judge_on_a_file_with_exports(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(20))
    done = assay(
        "judge",
        "sums.jsonl",
        "--judge",
        "math",
        "-o",
        "out.parquet",
        "--export",
        "pairs",
        "--report",
        "r.html",
        cwd=tmp_path,
    )
    rows = rows_of(tmp_path / "out.parquet")
    assert len(rows) == 40
    assert all(row["scores"] == [1.0 - row["candidate"]] for row in rows)  # type: ignore[operator]
    assert "100.0 %" in done.stdout
    pairs = [json.loads(line) for line in (tmp_path / "out.pairs.jsonl").read_text().splitlines()]
    assert len(pairs) == 20
    assert (tmp_path / "r.html").stat().st_size > 10_000
    again = assay("judge", "sums.jsonl", "--judge", "math", "-o", "out.parquet", cwd=tmp_path)
    assert "40/40" in again.stdout
    assert rows_of(tmp_path / "out.parquet") == rows
    assert [(r["item_id"], r["candidate"]) for r in rows[:3]] == [("q0", 0), ("q0", 1), ("q1", 0)]


def test_faults_are_typed_counted_and_the_same_again(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(100))
    faults = {"error_502": 0.05, "truncated": 0.05, "empty": 0.05, "garbage": 0.05}
    options = json.dumps({"replies": ["1"], "faults": faults, "seed": 3})
    outcomes: list[dict[object, object]] = []
    for out in ("a.parquet", "b.parquet"):
        assay("judge", "sums.jsonl", *FAKE, "--engine-options", options, "--reask", "0", "-o", out, cwd=tmp_path)
        outcomes.append({(r["item_id"], r["candidate"]): r["outcome"] for r in rows_of(tmp_path / out)})
    assert len(outcomes[0]) == 200
    assert outcomes[0] == outcomes[1]
    assert {"verdict", "engine_error", "truncated", "parse_error"} == set(outcomes[0].values())


def test_kill_9_in_the_middle_loses_and_doubles_nothing(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(150))
    arguments = ["judge", "sums.jsonl", *FAKE, "--concurrency", "4", "-o", "out.parquet"]
    options = ["--engine-options", json.dumps({"replies": ["1"], "latency_s": 0.02})]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", *arguments, *options],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal = tmp_path / "out.parquet.journal.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < 60):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = {line["seed"]: line["time"] for line in map(json.loads, journal.read_text().splitlines()[1:-1])}
    assert 50 < len(before) < 290
    assay(*arguments, *options, cwd=tmp_path)
    rows = rows_of(tmp_path / "out.parquet")
    assert len({(r["item_id"], r["candidate"]) for r in rows}) == len(rows) == 300
    assert all(before[r["seed"]] == r["time"] for r in rows if r["seed"] in before)
    assert not journal.exists()


def test_ctrl_c_keeps_what_was_judged(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(200))
    options = json.dumps({"replies": ["1"], "latency_s": 0.05})
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "assay",
            "judge",
            "sums.jsonl",
            *FAKE,
            "--engine-options",
            options,
            "--concurrency",
            "4",
            "-o",
            "out.parquet",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    journal = tmp_path / "out.parquet.journal.jsonl"
    until = time.monotonic() + 60
    while time.monotonic() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < 10):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "goes on from there" in out
    assert "Traceback" not in out
    assert 9 <= len(rows_of(tmp_path / "out.parquet")) < 400


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["missing.jsonl"], 2, "no such file: 'missing.jsonl'"),
        (["empty.jsonl"], 2, "'empty.jsonl' is empty"),
        (["good.jsonl", "-f", "reference=answr"], 2, "no field 'answr'"),
        (["good.jsonl", "--judge", "nobody"], 2, "unknown judge 'nobody'"),
        (["nogold.jsonl", "--need-gold"], 2, "gold"),
        (["good.jsonl", "--judge", "verifier", "--engine", "embedded", "--model", "no/such-model"], 2, "no/such-model"),
        (["good.jsonl", "--judge", "math", "--engine", "openai"], 2, "cannot be answered by the engine 'openai'"),
        (["good.jsonl", "--engine", "fake", "--judge", "verifier", "--sampling", '{"temprature": 1}'], 2, "temprature"),
        (["good.jsonl", "--engine", "fake", "--judge", "verifier", "--engine-options", "{"], 2, "not JSON"),
        (
            ["good.jsonl", "--judge", "verifier", "--engine", "service", "--url", "http://127.0.0.1:9/genrm"],
            3,
            "no judge service",
        ),
    ],
)
def test_bad_input_is_one_clear_line(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    write(tmp_path / "good.jsonl", sums(2))
    write(tmp_path / "nogold.jsonl", [{"prompt": "q", "candidates": ["a"], "reference": "b"}])
    (tmp_path / "empty.jsonl").write_text("")
    done = assay("judge", *arguments, cwd=tmp_path, expect=code)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_line_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(10))
    lines = (tmp_path / "sums.jsonl").read_text().splitlines()
    lines[6] = lines[6][:20]
    (tmp_path / "sums.jsonl").write_text("\n".join(lines) + "\n")
    done = assay("judge", "sums.jsonl", *FAKE, "-o", "out.parquet", cwd=tmp_path, expect=1)
    assert "skipped line 7" in done.stdout
    assert len(rows_of(tmp_path / "out.parquet")) == 18


def test_no_space_left_is_said_and_what_was_judged_is_kept(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(300))
    script = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000)); from assay.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "judge", "sums.jsonl", *FAKE, "-o", "out.parquet"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 4, done.stderr
    assert "cannot write" in done.stderr
    assert "free some space" in done.stderr
    assert (tmp_path / "out.parquet.journal.jsonl").read_bytes().count(b"\n") > 50
    assay("judge", "sums.jsonl", *FAKE, "-o", "out.parquet", cwd=tmp_path)
    assert len(rows_of(tmp_path / "out.parquet")) == 600


def test_the_help_of_every_verb(tmp_path: Path) -> None:
    for verb in ("judge", "serve", "parse", "demo"):
        assert "--help" in assay(verb, "--help", cwd=tmp_path).stdout


@pytest.mark.parametrize("flag", ["-o", "--report", "--export-to"])
def test_no_output_may_be_the_input(tmp_path: Path, flag: str) -> None:
    file = write(tmp_path / "sums.jsonl", sums(2))
    before = file.read_bytes()
    done = assay("judge", "sums.jsonl", *FAKE, "--fresh", flag, "./sums.jsonl", cwd=tmp_path, expect=2)
    assert "is the input itself" in done.stderr
    assert file.read_bytes() == before


def test_markup_in_the_data_is_text(tmp_path: Path) -> None:
    rows = sums(1)
    rows[0] |= {"id": "[/red]"}
    rows.append({"id": "[/blue]", "prompt": "q", "candidates": ["a"], "gold": [1]})
    write(tmp_path / "sums.jsonl", rows)
    done = assay("judge", "sums.jsonl", *FAKE, "-o", "out.parquet", cwd=tmp_path, expect=1)
    assert "disagrees: [/red], candidate 2" in done.stdout
    assert "skipped item [/blue]" in done.stdout


def test_nothing_but_failures_is_told_by_the_exit_code(tmp_path: Path) -> None:
    write(tmp_path / "sums.jsonl", sums(2))
    options = json.dumps({"default": "perhaps"})
    done = assay("judge", "sums.jsonl", *FAKE, "--engine-options", options, cwd=tmp_path, expect=1)
    assert "parse_error" in done.stdout
    assert "judge calls saved" not in done.stdout
    again = assay("judge", "--replay", "judged.parquet", cwd=tmp_path, expect=1)
    assert "no judge asked" in again.stdout


def test_why_nothing_can_be_judged_is_counted_by_reason(tmp_path: Path) -> None:
    bare = [{"id": f"b{i}", "prompt": "q", "candidates": ["a"]} for i in range(3)]
    write(tmp_path / "bare.jsonl", bare)
    done = assay("judge", "bare.jsonl", "--judge", "math", cwd=tmp_path, expect=2)
    assert "can take no item of 'bare.jsonl': 3 because the item has no reference" in done.stderr
