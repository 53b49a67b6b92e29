"""The command `agentcore`."""

from __future__ import annotations

import errno
import importlib
import signal
import sys
import traceback
from typing import Any, Final

import click

from agentcore.cli.terminal import give_up_output, open_standard_streams, tolerant, warn
from agentcore.oracle.campaign.stop_rules import Interrupted, interruptible

_FAILURE: Final = 2
# Where each command lies, and what it does: a module is imported when its command runs, and not for `--help`.
COMMANDS: Final = {
    "ask": ("drivers:ask", "Run programs on a driver and write its traces."),
    "bisect": ("contract:bisect_releases", "Find the release that changed who sees a hook's writes."),
    "check": ("check:check", "Run random programs on a driver or package, and on the reference."),
    "check-hook": ("check_hook:check_hook", "Check a hook of yours in the framework that you installed."),
    "compare": ("compare:compare", "Find the programs on which two versions differ."),
    "contract": ("contract:contract", "Print who sees what a hook writes, in a release of a framework."),
    "demo": ("demo:demo", "Show what a model reads when a hook reminds it."),
    "examples": ("vectors:examples_command", "Run the examples of pages in markdown."),
    "explain": ("trace:explain", "Run a program and print its run step by step."),
    "frameworks": ("drivers:frameworks", "List the frameworks that are installed."),
    "grade": ("check_hook:grade", "Say what your tests of isolation cannot tell."),
    "lint-driver": ("drivers:lint_driver", "Check a driver rule by rule of the protocol."),
    "notebooks": ("demo:notebooks", "Copy the notebooks and open them in JupyterLab."),
    "skeleton": ("drivers:skeleton", "Write a driver to begin with."),
    "trace": ("trace:trace", "Write the expected traces of programs."),
    "vectors": ("vectors:vectors", "Replay recorded vectors, or record them again."),
}
# What shells make of a process that SIGPIPE ended.
_PIPE_CLOSED: Final = 141


class _Commands(click.Group):
    """The commands, none of which ends with 1 unless that is its answer.

    For `check` and others 1 is a verdict, and it is also what Python and click end with on an uncaught
    exception, an interruption and a closed pipe. So these end with codes of their own: 128 and the signal's
    number, or 2.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's
        """The names of the commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """The command of that name, imported now; None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(importlib.import_module(f"agentcore.cli.{module}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what each command does."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Runs the command that the arguments name."""
        open_standard_streams()
        with tolerant():
            try:
                return super().main(*arguments, **settings)
            finally:
                # What is written when Python ends can no longer be reported.
                sys.stdout.flush()

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; turns what went wrong into its exit code."""
        try:
            with interruptible():
                return self._done(ctx)
        except Interrupted as stop:
            warn(f"agentcore was {stop}")
            ctx.exit(stop.exit_code)
        except KeyboardInterrupt:
            ctx.exit(Interrupted(signal.SIGINT).exit_code)
        except OSError as error:
            ctx.exit(_report_error(error))
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception:  # noqa: BLE001 - a fault of ours, which is no verdict
            traceback.print_exc()
            ctx.exit(_FAILURE)

    def _done(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        finally:
            # Here a failure can still be reported.
            sys.stdout.flush()


def _report_error(error: OSError) -> int:
    """Says that a file or standard output failed; returns the exit code."""
    if error.errno == errno.EPIPE:
        give_up_output(error)
        return _PIPE_CLOSED
    if error.filename is None:
        give_up_output(error)
    else:
        warn(str(error))
    return _FAILURE


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="agentcore-reference")
def main() -> None:
    """What an agent loop does with its messages: run it, trace it, check an implementation against it."""
