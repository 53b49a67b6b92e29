"""The command `agentcore`."""

from __future__ import annotations

import errno
import signal
import sys
import traceback
from typing import Any, Final

import click

from agentcore.cli import check, check_hook, compare, demo, drivers, trace, vectors
from agentcore.cli.terminal import give_up_output, open_standard_streams, tolerant, warn
from agentcore.oracle.campaign.stop_rules import Interrupted, interruptible

_FAILURE: Final = 2
# What shells make of a process that SIGPIPE ended.
_PIPE_CLOSED: Final = 141


class _Commands(click.Group):
    """The commands, none of which ends with 1 unless that is its answer.

    For `check` and others 1 is a verdict, and it is also what Python and click end with on an uncaught
    exception, an interruption and a closed pipe. So these end with codes of their own: 128 and the signal's
    number, or 2.
    """

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Runs the command that the arguments name."""
        open_standard_streams()
        with tolerant():
            try:
                return super().main(*arguments, **settings)
            finally:
                # What is written when Python ends can no longer be told.
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
            ctx.exit(_told(error))
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception:  # noqa: BLE001 - a fault of ours, which is no verdict
            traceback.print_exc()
            ctx.exit(_FAILURE)

    def _done(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        finally:
            # Here a failure can still be told.
            sys.stdout.flush()


def _told(error: OSError) -> int:
    """Says that a file or standard output failed; the exit code."""
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


_COMMANDS = (
    *(demo.demo, trace.trace, check.check, vectors.vectors, vectors.examples_command),
    *(compare.compare, trace.explain, drivers.lint_driver, drivers.skeleton, drivers.ask),
    *(demo.notebooks, check_hook.check_hook, drivers.frameworks),
)
for _command in _COMMANDS:
    main.add_command(_command)
