"""Measures what fitted numbers were fitted to, and fits them: `python -m tools.fit_schedule --help`.

    measure [NAME]  runs every sequence on the real package, which is installed as it is pinned and kept, and
                    writes tools/data/NAME.txt
    check [NAME]    compares the emulation with what was measured
    ranges [NAME]   for each number, the values that agree with all that was measured if the others stay
    fit [NAME]      searches numbers from nothing, or from the code's with --from-code

The names are those of `tools.series`. Tests hold that code and data agree (tests/spec/test_schedules.py).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

from agentcore.kit.families import family_of
from agentcore.oracle.drivers.driver import Answer, Driver
from agentcore.oracle.drivers.packages import TARGETS, command
from tools.series import SERIES, Numbers, Series

DATA: Final = Path(__file__).parent / "data"
_HEAD: Final = "# {package}, {count} sequences. Made by: python -m tools.fit_schedule measure {name}\n"
_AHEAD: Final = 32
_FARTHEST: Final = 12
_STRIDES: Final = (1, -1, 3, -3, 8, -8)

Orders: TypeAlias = Mapping[str, str]


class UnmeasuredError(Exception):
    """A driver gave something else than a trace; the message has the sequence and what it gave."""


# ---------------------------------------------------------------- what was measured


def file_of(series: Series) -> Path:
    """Where the measured orders of a series are."""
    return DATA / f"{series.name.replace('/', '-')}.txt"


def written(series: Series, orders: Orders) -> str:
    """The text of a file of orders: a line each, the sequence, a tab and its order."""
    head = _HEAD.format(package=TARGETS[series.target].package, count=len(orders), name=series.name)
    return head + "".join(f"{sequence}\t{order}\n" for sequence, order in orders.items())


def read(text: str) -> Orders:
    """The orders in such a text.

    Raises:
        ValueError: for a line that is none, a sequence that is there twice, or a head that counts others.
    """
    head, *lines = text.splitlines()
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=2):
        sequence, tab, order = line.partition("\t")
        if not tab or sequence in found:
            raise ValueError(f"line {number} has no tab, or its sequence a second time: {line!r}")
        found[sequence] = order
    if f", {len(found)} sequences." not in head:
        raise ValueError(f"the first line says something else than {len(found)} sequences: {head!r}")
    return found


def measured(series: Series) -> Orders:
    """The orders that were measured for a series."""
    return read(file_of(series).read_text("utf-8"))


def measure(series: Series, sequences: Sequence[str], argv: Sequence[str] | None = None) -> Orders:
    """Runs sequences on the package, or on the driver that a command line starts.

    Raises:
        UnmeasuredError: if the driver gives anything but a trace.
    """
    found: dict[str, str] = {}
    fields = family_of(TARGETS[series.target].profile).trace_fields
    with Driver(argv or command(series.target), trace_fields=fields) as driver:
        for start in range(0, len(sequences), _AHEAD):
            some = sequences[start : start + _AHEAD]
            for sequence in some:
                driver.submit(series.program(sequence))
            for sequence in some:
                outcome = driver.receive()
                if not isinstance(outcome, Answer):
                    raise UnmeasuredError(f"{sequence!r}: {outcome}")
                found[sequence] = series.order(outcome.trace)
    return found


# ---------------------------------------------------------------- what the code says


def differences(
    series: Series, orders: Orders, numbers: Numbers | None = None
) -> Iterator[tuple[str, str, str]]:
    """Each sequence with another order in the emulation: itself, the package's order, the emulation's."""
    for sequence, order in orders.items():
        own = series.expected(sequence, numbers)
        if own != order:
            yield sequence, order, own


def ranges(
    series: Series, orders: Orders, names: Collection[str] = ()
) -> Iterator[tuple[str, int, int, int]]:
    """For each number, or those named: its name, its value, the first and last value around it that agree."""
    numbers = series.numbers()

    def last(name: str, step: int) -> int:
        far = numbers[name]
        while abs(far - numbers[name]) < _FARTHEST:
            if next(differences(series, orders, {**numbers, name: far + step}), None) is not None:
                break
            far += step
        return far

    for name in names or numbers:
        yield name, numbers[name], last(name, -1), last(name, 1)


# ---------------------------------------------------------------- the search


def fit(series: Series, orders: Orders, start: Numbers, seed: int = 0) -> tuple[Numbers, int]:
    """Numbers that were found from a start, and how many orders they have wrong.

    One number after the other is changed by some strides, as long as that puts more orders right.
    """
    random = Random(seed)  # noqa: S311 - the order of a search
    best, wrong = dict(start), _wrong(series, orders, start)
    names = list(start)
    found = True
    while found and wrong:
        found = False
        random.shuffle(names)
        for name in names:
            for stride in _STRIDES:
                tried = {**best, name: best[name] + stride}
                now = _wrong(series, orders, tried, wrong)
                if now < wrong:
                    best, wrong, found = tried, now, True
    return best, wrong


def _wrong(series: Series, orders: Orders, numbers: Numbers, enough: int | None = None) -> int:
    """How many orders are wrong; counted no further than to `enough`."""
    wrong = 0
    for _ in differences(series, orders, numbers):
        wrong += 1
        if wrong == enough:
            break
    return wrong


# ---------------------------------------------------------------- the command


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code: 1 if code and data disagree."""
    arguments = _parser().parse_args(argv)
    series = [SERIES[name] for name in ([arguments.name] if arguments.name else SERIES)]
    return max(_COMMANDS[arguments.command](each, arguments) for each in series)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fit_schedule", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("command", choices=_COMMANDS)
    parser.add_argument("name", nargs="?", choices=SERIES, help="all of them if none is named")
    parser.add_argument("--from-code", action="store_true", help="fit: begin with the numbers of the code")
    parser.add_argument(
        "--sample", type=int, default=400, help="fit: how many of the measured orders are used"
    )
    return parser


def _measure(series: Series, _: argparse.Namespace) -> int:
    orders = measure(series, [*series.sequences()])
    file_of(series).write_text(written(series, orders), encoding="utf-8")
    print(f"{series.name}: {len(orders)} orders in {file_of(series).name}")
    return 0


def _check(series: Series, _: argparse.Namespace) -> int:
    orders = measured(series)
    found = [*differences(series, orders)]
    for sequence, order, own in found:
        print(f"{series.name} {sequence!r}\n  package    {order}\n  emulation  {own}")
    print(f"{series.name}: {len(orders) - len(found)} of {len(orders)} orders agree")
    return 1 if found else 0


def _ranges(series: Series, _: argparse.Namespace) -> int:
    for name, value, first, last in ranges(series, measured(series)):
        print(f"{series.name} {name}: {value}, of {first} to {last}", flush=True)
    return 0


def _fit(series: Series, arguments: argparse.Namespace) -> int:
    orders = measured(series)
    sample = {each: orders[each] for each in [*orders][:: max(1, len(orders) // arguments.sample)]}
    numbers = series.numbers() if arguments.from_code else dict.fromkeys(series.numbers(), 0)
    found, wrong = fit(series, sample, numbers)
    whole = _wrong(series, orders, found)
    print(
        f"{series.name}: {dict(found)}\n"
        f"{wrong} of {len(sample)} used and {whole} of {len(orders)} orders are wrong"
    )
    return 1 if whole else 0


_COMMANDS: Final[Mapping[str, Callable[[Series, argparse.Namespace], int]]] = {
    "measure": _measure,
    "check": _check,
    "ranges": _ranges,
    "fit": _fit,
}


if __name__ == "__main__":
    sys.exit(main())
