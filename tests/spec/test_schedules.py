"""The fitted numbers: the emulations give the orders that were measured on the packages."""

from __future__ import annotations

import shutil
import sys
from typing import Final

import pytest

from agentcore.oracle.drivers.packages import TARGETS
from tools import fit_schedule
from tools.fit_schedule import (
    UnmeasuredError,
    differences,
    file_of,
    fit,
    main,
    measure,
    measured,
    ranges,
    read,
    written,
)
from tools.series import SERIES, Series

ALL: Final = pytest.mark.parametrize("series", SERIES.values(), ids=lambda series: series.name)
AI_SDK: Final = SERIES["ai-sdk-6/stream"]
NOT_THE_ORDER: Final = "text0 text1"
FEW: Final = 12
SAMPLE: Final = 40


def every(nth: int, series: Series) -> dict[str, str]:
    orders = measured(series)
    return {sequence: orders[sequence] for sequence in [*orders][::nth]}


# A tool that returns among what may come behind its call.
SMALL: Final = {
    sequence: order
    for sequence, order in measured(AI_SDK).items()
    if sequence[0] == "r" and {*sequence} <= {*"rtu"}
}


@ALL
def test_the_emulation_has_the_measured_order_of_some_sequences(series: Series) -> None:
    assert [*differences(series, every(SAMPLE, series))] == [], (
        f"run: python -m tools.fit_schedule check {series.name}"
    )


@pytest.mark.slow
@pytest.mark.sample(2)
@ALL
def test_the_emulation_has_the_measured_order_of_every_sequence(series: Series) -> None:
    assert [*differences(series, measured(series))] == []


@ALL
def test_the_data_are_those_of_the_pinned_package_and_of_all_sequences(series: Series) -> None:
    text = file_of(series).read_text("utf-8")
    assert TARGETS[series.target].package in text.splitlines()[0]
    assert [*read(text)] == [*series.sequences()]
    assert written(series, read(text)) == text


# Programs have no hook that hears of chunks or calls (test_chunk_orders.py has the orders of those). Where
# tools run once the model has sent all, its chunks come before every answer, however long they take.
HOOKS: Final = ["context", "hook", "chunk", "chunk_hook", "model_ended", "built"]
UNSEEN: Final = {
    "ai-sdk-6/stream": HOOKS,
    "ai-sdk-6.0.326/stream": [*HOOKS, "parse", "signed", "start", "no_hook"],
}


@pytest.mark.slow
@pytest.mark.sample(1)
@ALL
def test_every_number_is_decided_by_the_data(series: Series) -> None:
    # Far enough from where it is, each number gives another order somewhere.
    orders = every(3, series)
    numbers = series.numbers()
    unseen = []
    for name, value in numbers.items():
        far = ({**numbers, name: value + change} for change in (-30, 30))
        if all(next(differences(series, orders, other), None) is None for other in far):
            unseen.append(name)
    assert sorted(unseen) == sorted(UNSEEN.get(series.name, []))


@pytest.mark.slow
def test_a_number_that_is_wrong_is_seen_and_found_again() -> None:
    numbers = AI_SDK.numbers()
    wrong = {**numbers, "returned": numbers["returned"] + 8}
    assert [*differences(AI_SDK, SMALL, wrong)] != []
    found, count = fit(AI_SDK, SMALL, wrong)
    assert count == 0
    assert [*differences(AI_SDK, SMALL, found)] == []


def test_a_range_holds_the_number_and_ends_where_an_order_changes() -> None:
    ((name, first, value, last),) = (
        (name, first, value, last) for name, value, first, last in ranges(AI_SDK, SMALL, ["returned"])
    )
    assert name == "returned"
    assert first <= value == AI_SDK.numbers()[name] <= last
    for outside in (first - 1, last + 1):
        assert [*differences(AI_SDK, SMALL, {**AI_SDK.numbers(), name: outside})] != []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# ai@1, 1 sequences.\nt text0\n", "line 2 has no tab"),
        ("# ai@1, 2 sequences.\nt\ttext0\nt\ttext0\n", "line 3 .*a second time"),
        ("# ai@1, 3 sequences.\nt\ttext0\n", "something else than 1 sequences"),
    ],
)
def test_a_file_of_orders_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(text)


def test_a_driver_that_gives_no_trace_is_no_measurement() -> None:
    with pytest.raises(UnmeasuredError, match=r"'t': "):
        measure(AI_SDK, ["t"], [sys.executable, "-c", "print('{}')"])


def test_the_reference_as_a_driver_gives_the_orders_of_the_emulation() -> None:
    sequences = [*AI_SDK.sequences()][:FEW]
    argv = [sys.executable, "-m", "agentcore", "trace", "--profile", AI_SDK.name]
    assert measure(AI_SDK, sequences, argv) == {each: AI_SDK.expected(each) for each in sequences}


def test_the_command_says_what_disagrees(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fit_schedule, "measured", lambda _: SMALL)
    assert main(["check", "ai-sdk-6/stream"]) == 0
    assert capsys.readouterr().out == f"ai-sdk-6/stream: {len(SMALL)} of {len(SMALL)} orders agree\n"
    monkeypatch.setattr(fit_schedule, "measured", lambda _: {"tt": NOT_THE_ORDER, "t": "text1"})
    assert main(["check", "ai-sdk-6/stream"]) == 1
    assert capsys.readouterr().out == (
        "ai-sdk-6/stream 't'\n  package    text1\n  emulation  text0\nai-sdk-6/stream: 1 of 2 orders agree\n"
    )


@pytest.mark.live
@ALL
def test_the_package_still_gives_what_was_measured(series: Series) -> None:
    if shutil.which("node") is None:
        pytest.skip("Node.js runs the package, and there is none on the PATH")
    orders = measured(series)
    some = [*orders][:: len(orders) // FEW]
    assert measure(series, some) == {each: orders[each] for each in some}
