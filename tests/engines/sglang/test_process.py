"""Real processes: shell scripts in the place of a server."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from assay.core.errors import StartError
from assay.engines.sglang.family import essential, find_fault, members
from assay.engines.sglang.process import GUARD, ServerProcess

from .conftest import alive, until

# Starts two children, says their ids, and waits; the first of them calls itself a part of SGLang.
SERVER = """
python - sglang::scheduler <<'X' & echo child $!
import time; time.sleep(60)
X
sleep 60 & echo child $!
echo ready; wait
"""


async def launch(tmp_path: Path, script: str, stop_s: float = 1.0) -> ServerProcess:
    env = dict(os.environ) | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    return await ServerProcess.launch(("sh", "-c", script), env, tmp_path / "log", stop_s)


def children(process: ServerProcess) -> list[int]:
    return [int(line.split()[1]) for line in process.tail().splitlines() if line.startswith("child")]


def test_stopping_ends_the_server_and_all_that_it_started(tmp_path: Path) -> None:
    async def main() -> None:
        process = await launch(tmp_path, SERVER)
        await until(lambda: "ready" in process.tail())
        pids = children(process)
        assert len(process.pids) == 3
        assert all(alive(pid) for pid in pids)
        await process.stop()
        assert not any(alive(pid) for pid in pids)
        assert not process.pids

    asyncio.run(main())


def test_a_server_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        process = await launch(tmp_path, "trap '' TERM; echo child $$; echo ready; while :; do sleep 1; done", 0.2)
        await until(lambda: "ready" in process.tail())
        pids = children(process)
        await process.stop()
        assert not any(alive(pid) for pid in pids)
        assert process.cause == "was ended by SIGKILL"

    asyncio.run(main())


def test_how_a_server_ended_is_said_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    async def main() -> None:
        process = await launch(tmp_path, "sleep 60 & echo child $!; exit 3")
        await asyncio.wait_for(process.ended.wait(), 5)
        fault = process.fault()
        assert fault is not None
        assert (fault.detail, fault.dead) == ("the server ended with status 3", True)
        assert "assay: the command ended with status 3" in process.tail()
        await until(lambda: not any(alive(pid) for pid in children(process)))

    asyncio.run(main())


def test_a_part_that_dies_or_stops_is_missed(tmp_path: Path) -> None:
    async def main() -> None:
        process = await launch(tmp_path, SERVER)
        await until(lambda: "ready" in process.tail())
        await asyncio.sleep(0.1)
        process.settle()
        scheduler, other = children(process)
        os.kill(other, signal.SIGKILL)
        assert process.fault() is None, "only the server and its titled parts are missed"
        os.kill(scheduler, signal.SIGSTOP)
        await until(lambda: (fault := process.fault()) is not None and not fault.dead)
        os.kill(scheduler, signal.SIGKILL)
        await until(lambda: (fault := process.fault()) is not None and fault.dead)
        await process.kill()

    asyncio.run(main())


def test_the_server_ends_with_its_owner_however_that_ends(tmp_path: Path) -> None:
    code = """
        import asyncio, os, sys
        from pathlib import Path
        from assay.engines.sglang.process import ServerProcess
        async def main():
            await ServerProcess.launch(("sh", "-c", "echo child $$; sleep 60"), dict(os.environ), Path(sys.argv[1]), 1)
            print("launched", flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
    """
    log = tmp_path / "log"
    owner = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(log)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    assert owner.stdout.readline() == "launched\n"

    async def main() -> None:
        await until(lambda: "child" in log.read_text())
        pid = int(log.read_text().split()[1])
        assert alive(pid)
        owner.kill()
        owner.wait()
        await until(lambda: not alive(pid))

    asyncio.run(main())
    owner.stdout.close()


def test_the_server_ends_with_its_guard(tmp_path: Path) -> None:
    async def main() -> None:
        process = await launch(tmp_path, "echo child $$; sleep 60")
        await until(lambda: "child" in process.tail())
        (pid,) = children(process)
        (relative,) = (one for one in members(os.getpgid(pid)).values() if one.pid == pid)
        os.kill(relative.parent, signal.SIGKILL)
        await until(lambda: not alive(pid))
        await asyncio.wait_for(process.ended.wait(), 5)

    asyncio.run(main())


def test_what_cannot_be_run_or_logged_is_a_start_error(tmp_path: Path) -> None:
    async def main() -> None:
        with pytest.raises(StartError, match="log file"):
            await ServerProcess.launch(("sh",), {}, tmp_path, 1)
        process = await ServerProcess.launch(("/no/such/program",), dict(os.environ), tmp_path / "log", 1)
        await asyncio.wait_for(process.ended.wait(), 5)
        assert "FileNotFoundError" in process.tail()

    asyncio.run(main())


def test_a_group_that_is_gone_has_no_members() -> None:
    assert members(2**22 - 1) == {}
    assert essential(2**22 - 1, 2**22 - 1) == frozenset()
    fault = find_fault({2**22 - 1})
    assert fault is not None
    assert fault.dead
    assert find_fault({os.getpid()}) is None


def test_the_guard_ends_with_the_servers_status_and_needs_no_packages() -> None:
    command = [sys.executable, "-I", "-S", str(GUARD), "1", "sh", "-c", "exit 7"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        assert guard.wait(10) == 7
