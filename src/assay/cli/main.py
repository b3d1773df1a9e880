"""The ``assay`` command: one verb a file, listed in ``verbs``. Errors of the user become one line and an exit code.

Exit codes: 0 done (failed judgments are results, not errors) · 1 done, but some input was skipped, each named, or
nothing came of it (``ending``: no judgment is a verdict, no row is kept) · 2 wrong input or usage · 3 something could
not be started · 4 a result could not be written · 5 a training run must not go on · 75 the time of this call is over,
the same command goes on · 130 stopped by Ctrl-C (143: by SIGTERM, where the verb ends cleanly at it).
"""

from __future__ import annotations

import os
import sys

import typer

from assay import __version__
from assay.core.errors import AssayError

from .verbs import Verbs, add_verbs

app = typer.Typer(
    name="assay",
    cls=Verbs,
    help="Serve, scale, train and measure generative reward models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
add_verbs(app)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Serve, scale, train and measure generative reward models."""
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command line; the process ends with the exit code of what happened."""
    try:
        app()
    except AssayError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The reader of our output (head, less) has left: nothing to say, and nowhere to say it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
