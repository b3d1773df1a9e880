"""Stands between us and the server, as the leader of its process group. Runs as a script; imports nothing of Assay.

    python guard.py GRACE_S COMMAND...

It starts the command and waits. When its stdin closes, because we closed it or because we are gone, however we went,
it asks the server to end, and after the grace kills whatever is left of the group. When the server ends by itself, it
kills what the server left behind and ends with the same status.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Run the command; returns the status to end with."""
    grace_s, command = float(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None)

    def die_with_guard() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def end(*_: object) -> None:
        threading.Thread(target=stop, args=(server, grace_s), daemon=True).start()

    # There is one thread as yet, so code between fork and exec is safe.
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_guard)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=stop_on_end_of_input, args=(server, grace_s), daemon=True).start()
    status = server.wait()
    kill_others()
    print(f"assay: the command ended {f'by signal {-status}' if status < 0 else f'with status {status}'}", flush=True)
    return status if status >= 0 else 128 - status


def stop_on_end_of_input(server: subprocess.Popen[bytes], grace_s: float) -> None:
    """Wait until stdin closes, then stop the server."""
    while os.read(0, 4096):
        pass
    stop(server, grace_s)


def stop(server: subprocess.Popen[bytes], grace_s: float) -> None:
    """Ask the server to end; after the grace, kill the group (the main thread then sees the server's end)."""
    server.terminate()
    try:
        server.wait(grace_s)
    except subprocess.TimeoutExpired:
        kill_others()


def kill_others() -> None:
    """Kill every process of this group but this one."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if os.getpgid(int(entry.name)) == os.getpgrp():
                    os.kill(int(entry.name), signal.SIGKILL)
            except ProcessLookupError:
                continue


if __name__ == "__main__":
    sys.exit(main())
