from __future__ import annotations

import time
from pathlib import Path

import pytest

from agentcore.oracle.drivers.driver import Answer, Crashed, Driver, Hung, Malformed, Outcome, Unsupported
from liars import toy
from oracle.driver_commands import liar, small, toy_driver


def alive(pid: int) -> bool:
    """Whether the process runs; one that is dead and only not yet waited for by its parent does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in ("Z", "X")


def wait_until_gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def ask(driver: Driver) -> Outcome:
    with driver:
        return driver.run(small())


def test_a_truthful_driver_answers() -> None:
    assert ask(toy_driver()) == Answer(toy.trace(small()))


def test_answers_come_in_the_order_of_the_programs_many_at_a_time() -> None:
    with toy_driver() as driver:
        for number in range(200):
            driver.submit(small(str(number)))
        assert driver.pending == 200
        outcomes = [driver.receive() for _ in range(200)]
        assert driver.pending == 0
    assert outcomes == [Answer(toy.trace(small(str(number)))) for number in range(200)]
    assert driver.starts == 1


def test_programs_and_traces_larger_than_any_pipe_go_through() -> None:
    with toy_driver() as driver:
        programs = [small(str(number), "x" * 1_000_000) for number in range(4)]
        for program in programs:
            driver.submit(program)
        assert [driver.receive() for _ in programs] == [Answer(toy.trace(program)) for program in programs]


def test_ids_may_be_numbers() -> None:
    with toy_driver() as driver:
        assert driver.run(small(7)) == Answer(toy.trace(small(7)))


def test_a_driver_that_hangs_is_hung_and_killed() -> None:
    since = time.monotonic()
    assert ask(liar("hangs", time_limit=0.5)) == Hung(0.5, "")
    assert time.monotonic() - since < 5


def test_a_driver_that_never_reads_is_hung() -> None:
    with liar("never_reads", time_limit=1.0) as driver:
        assert isinstance(driver.run(small(text="x" * 1_000_000)), Hung)


def test_what_a_hung_driver_started_is_killed_with_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert isinstance(ask(liar("hangs_with_a_child", str(note), time_limit=2.0)), Hung)
    assert wait_until_gone(int(note.read_text()))


def test_what_a_driver_leaves_behind_at_its_end_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    assert isinstance(ask(liar("ends_but_leaves_a_child", str(note))), Answer)
    assert wait_until_gone(int(note.read_text()))


def test_a_driver_that_crashes_at_start_has_crashed_and_said_why() -> None:
    outcome = ask(liar("crashes_at_start"))
    assert outcome == Crashed("the process ended with exit code 1", "cannot find the package\n")


def test_a_command_that_cannot_be_started_has_crashed() -> None:
    outcome = ask(Driver(["/nowhere/to/be/found"]))
    assert outcome == Crashed("could not start /nowhere/to/be/found: No such file or directory", "")


def test_a_driver_that_crashes_at_the_third_program_goes_on_with_a_new_process() -> None:
    with liar("crashes_at_the_third") as driver:
        for number in range(6):
            driver.submit(small(str(number)))
        outcomes = [driver.receive() for _ in range(6)]
    crash = Crashed("the process was ended by SIGKILL", "out of memory\n")
    answers = [Answer(toy.trace(small(str(number)))) for number in range(6)]
    assert outcomes == [*answers[:2], crash, *answers[3:5], crash]
    assert driver.starts == 2


def test_a_driver_that_prints_junk_is_malformed() -> None:
    assert ask(liar("prints_junk")) == Malformed("a line that is not JSON", "debug: got a program", "")


def test_a_driver_that_splits_lines_is_malformed() -> None:
    assert ask(liar("splits_lines")) == Malformed("a line that is not JSON", "{", "")


def test_a_driver_that_prints_other_json_is_malformed() -> None:
    assert ask(liar("prints_a_list")) == Malformed("a line that is not a JSON object", "[]", "")
    assert ask(liar("prints_no_trace")) == Malformed("an object that is no trace", '{"id": "a"}', "")


def test_a_driver_that_writes_in_pieces_is_not_malformed() -> None:
    assert isinstance(ask(liar("writes_in_pieces")), Answer)


def test_a_driver_that_prints_two_lines_is_malformed_at_the_next_program() -> None:
    with liar("prints_two_lines") as driver:
        assert isinstance(driver.run(small("a")), Answer)
        outcome = driver.run(small("b"))
    assert isinstance(outcome, Malformed)
    assert outcome.reason == "an answer for program 'a' where one for 'b' is due"


def test_a_driver_that_answers_the_wrong_id_is_malformed() -> None:
    outcome = ask(liar("answers_the_wrong_id"))
    assert isinstance(outcome, Malformed)
    assert outcome.reason == "an answer for program 'other' where one for 'a' is due"
    assert outcome.output.endswith("bytes)")


def test_a_driver_that_prints_megabytes_is_malformed() -> None:
    outcome = ask(liar("prints_megabytes", max_line=5_000_000))
    assert isinstance(outcome, Malformed)
    assert outcome.reason == "a line of more than 5000000 bytes"
    assert len(outcome.output) < 300


def test_of_megabytes_of_complaints_the_end_is_kept_and_the_answer_counts() -> None:
    with liar("complains_by_the_megabyte") as driver:
        assert isinstance(driver.run(small("a")), Answer)
        assert isinstance(driver.run(small("b")), Answer)


def test_a_driver_that_exits_early_has_crashed_at_the_next_program() -> None:
    with liar("exits_early") as driver:
        assert isinstance(driver.run(small("a")), Answer)
        assert driver.run(small("b")) == Crashed("the process ended with exit code 0", "")


def test_a_driver_that_exits_in_a_line_has_crashed() -> None:
    outcome = ask(liar("exits_in_a_line"))
    assert isinstance(outcome, Crashed)
    assert outcome.reason.startswith(
        'the process ended with exit code 0 after an unfinished line: {"id": "a"'
    )


def test_a_driver_that_says_it_does_not_support_a_program_is_believed() -> None:
    assert ask(liar("supports_nothing")) == Unsupported("no hooks here")


def test_a_driver_is_used_in_order() -> None:
    with toy_driver() as driver:
        with pytest.raises(LookupError):
            driver.receive()
        driver.submit(small())
        with pytest.raises(ValueError, match="pending"):
            driver.run(small())


def test_a_closed_driver_starts_again_when_asked() -> None:
    driver = toy_driver()
    first = driver.run(small())
    driver.close()
    driver.close()
    assert driver.run(small()) == first
    driver.close()
    assert driver.starts == 2


def test_no_descriptors_are_left_open() -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    for kind in ("crashes_at_start", "prints_junk", "exits_early"):
        ask(liar(kind))
    ask(Driver(["/nowhere/to/be/found"]))
    ask(toy_driver())
    assert len([*Path("/proc/self/fd").iterdir()]) == before
