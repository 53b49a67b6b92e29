from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given

import agentcore
from agentcore.errors import SavedRunError
from agentcore.machine.effects import HookResult, ModelAnswer, NeedModel, Settings
from agentcore.machine.run import Run, give, start
from agentcore.messages.content import Usage
from agentcore.messages.messages import UserMessage
from agentcore.records.history import fork
from agentcore.records.saved import RunLog, load, save, to_json
from agentcore.requirements.rules import Rule
from plays import Play, differences, played, plays
from rulebook import states
from scripted import SETTINGS, TOOL, USER, call

RUN = played(Play(script=[[call()]], hooks=["remind", "stay"]))[-1]
SHORT = start(SETTINGS, [UserMessage("a \ud800 b")])


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_a_run_is_saved_to_a_file_and_loaded_from_it(tmp_path: Path) -> None:
    for run in (RUN, SHORT):
        save(run, tmp_path / "run.json")
        assert not list(differences(load(tmp_path / "run.json"), run))
    assert names(tmp_path) == ["run.json"]


def test_the_file_is_json_text_that_any_reader_takes(tmp_path: Path) -> None:
    save(RUN, str(tmp_path / "run.json"))
    text = (tmp_path / "run.json").read_text(encoding="ascii")
    assert json.loads(text) == to_json(RUN)


def test_save_and_load_are_at_the_top_of_the_package(tmp_path: Path) -> None:
    agentcore.save(RUN, tmp_path / "a")
    assert agentcore.load(tmp_path / "a") == RUN
    with pytest.raises(agentcore.SavedRunError):
        agentcore.load(__file__)


def test_save_is_a_checkpoint(tmp_path: Path) -> None:
    checkpoint = partial(save, path=tmp_path / "run.json")
    checkpoint(RUN)
    assert load(tmp_path / "run.json") == RUN


# ---------------------------------------------------------------- the file is whole at any time


def no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


@states(Rule.RUN_FILE_WHOLE)
@pytest.mark.parametrize("name", ["os.fsync", "pathlib.Path.replace", "json.dumps", "pathlib.Path.open"])
def test_what_fails_while_saving_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "run.json"
    save(SHORT, path)
    before = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(name, lambda *_, **__: no_space())
        with pytest.raises(OSError, match="No space left"):
            save(RUN, path)
    assert path.read_bytes() == before
    assert names(tmp_path) == ["run.json"]


def test_an_error_of_writing_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="No space") as caught:
        save(RUN, tmp_path / "run.json")
    assert caught.value.filename == str(tmp_path / "run.json")


def test_the_text_is_on_the_disk_before_it_takes_the_place_of_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noting(number: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file"
        done.append(f"{kind} on disk")
        fsync(number)

    def moving(self: Path, target: Path) -> Path:
        done.append("replaced")
        assert json.loads(self.read_text())["version"]
        return replace(self, target)

    monkeypatch.setattr("os.fsync", noting)
    monkeypatch.setattr(Path, "replace", moving)
    save(RUN, tmp_path / "run.json")
    assert done == ["file on disk", "replaced", "folder on disk"]


def test_a_folder_that_cannot_be_put_on_disk_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.open", no_space)
    save(RUN, tmp_path / "run.json")
    assert load(tmp_path / "run.json") == RUN


def test_a_link_goes_on_leading_to_the_run(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "run.json")
    save(RUN, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "there" / "run.json") == RUN


# ---------------------------------------------------------------- what cannot be saved or loaded


def test_a_folder_or_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        save(RUN, tmp_path / "no" / "run.json")
    assert caught.value.filename == str(tmp_path / "no" / "run.json")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "run.json")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_a_run_that_is_too_deep_to_be_loaded_is_not_saved(tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(100_000 - 10):
        deep = {"a": deep}
    run = start(Settings(model="m", experimental_context=deep), [USER])
    with pytest.raises(SavedRunError, match="nested too deeply") as caught:
        save(run, tmp_path / "run.json")
    assert (caught.value.path, caught.value.file) == ("$", str(tmp_path / "run.json"))
    assert names(tmp_path) == []


def many_steps() -> Run:
    return start(Settings(model="m", max_steps=2**53, tools=[TOOL]), [USER])


def many_tokens() -> Run:
    run = start(SETTINGS, [USER])
    while not isinstance(run.pending, NeedModel):
        run = give(run, HookResult())
    return give(run, ModelAnswer([], usage=Usage(2**60, 0)))


@pytest.mark.parametrize(("make", "count"), [(many_steps, 2**53), (many_tokens, 2**60)])
def test_a_count_that_would_not_be_loaded_is_not_saved(
    tmp_path: Path, make: Callable[[], Run], count: int
) -> None:
    with pytest.raises(SavedRunError, match=rf"a count of {count} is beyond") as caught:
        save(make(), tmp_path / "run.json")
    assert caught.value.file == str(tmp_path / "run.json")


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        (b"", "$", "not JSON text"),
        (b'{"version": 3', "$", "line 1"),
        (b"\xff", "$", "byte 0 is not UTF-8"),
        (b"[" * 100_000, "$", "nested too deeply"),
        (b'{"version": NaN}', "$", "NaN"),
        (b'{"version": ' + b"9" * 5_000 + b"}", "$", "beyond every float"),
        (b"[]", "$", "expected an object, got an array"),
        (b'{"version": 3}', "$", "missing"),
    ],
)
def test_a_file_that_holds_no_run_is_refused_with_the_file_and_the_place(
    tmp_path: Path, text: bytes, path: str, says: str
) -> None:
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(SavedRunError) as caught:
        load(tmp_path / "run.json")
    assert caught.value.file == str(tmp_path / "run.json")
    assert caught.value.path.startswith(path)
    assert says in caught.value.reason
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: $")


def test_half_a_file_is_refused_wherever_it_was_cut(tmp_path: Path) -> None:
    save(SHORT, tmp_path / "run.json")
    text = (tmp_path / "run.json").read_bytes()
    for length in range(len(text)):
        (tmp_path / "run.json").write_bytes(text[:length])
        with pytest.raises(SavedRunError):
            load(tmp_path / "run.json")


# ---------------------------------------------------------------- a log

LONG = Play(script=[[call(f"c{n}")] for n in range(6)], hooks=["remind", "stay", "nothing"] * 2)


@pytest.mark.slow
@states(Rule.RUN_LOG_WHOLE)
@given(plays)
def test_a_log_holds_the_run_of_its_last_call_whichever_moments_it_is_told_of(play: Play) -> None:
    runs = played(play)
    with TemporaryDirectory() as folder:
        for path, every in ((Path(folder) / "all", 1), (Path(folder) / "some", 3)):
            log = RunLog(path)
            for run in runs[::every]:
                log(run)
                assert not list(differences(load(path), run))
                assert to_json(load(path)) == to_json(run)


def test_a_log_gets_a_line_a_call_and_the_lines_before_stay(tmp_path: Path) -> None:
    runs, log, before = played(LONG), RunLog(tmp_path / "run"), b""
    for number, run in enumerate(runs, 2):
        log(run)
        text = (tmp_path / "run").read_bytes()
        assert text.startswith(before)
        assert text.count(b"\n") == number
        before = text


def test_what_was_being_appended_when_a_process_died_is_left_out_wherever_it_was_cut(tmp_path: Path) -> None:
    *_, before, run = played(LONG)
    log = RunLog(tmp_path / "run")
    log(before)
    whole = len((tmp_path / "run").read_bytes())
    log(run)
    text = (tmp_path / "run").read_bytes()
    for end in range(whole, len(text)):
        (tmp_path / "run").write_bytes(text[:end])
        assert not list(differences(load(tmp_path / "run"), before))


@pytest.mark.parametrize("other", [RUN, fork(RUN, 0, messages=[UserMessage("else")]), played(LONG)[2]])
def test_a_log_that_is_told_of_another_run_begins_again(tmp_path: Path, other: Run) -> None:
    log = RunLog(tmp_path / "run")
    log(played(LONG)[-1])
    log(other)
    assert not list(differences(load(tmp_path / "run"), other))
    assert names(tmp_path) == ["run"]


def test_a_log_that_could_not_be_written_is_written_anew_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, before, run = played(LONG)
    log = RunLog(tmp_path / "run")
    log(before)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space") as caught:
            log(run)
    assert caught.value.filename == str(tmp_path / "run")
    log(run)
    assert load(tmp_path / "run") == run
    assert (tmp_path / "run").read_bytes().count(b"\n") == 2


@pytest.mark.parametrize(
    ("line", "path", "says"),
    [
        (b"{", "$", "line 4"),
        (b"[]", "$", "expected an object"),
        (b"{}", "$.outcomes", "expected an array"),
        (b'{"outcomes": [], "others": [], "response": []}', "$.pending", "the recorded outcomes lead to"),
        (b'{"outcomes": [7], "others": [], "response": [], "pending": "Done"}', "$.outcomes[", "expected"),
    ],
)
def test_a_line_that_no_log_has_is_refused(tmp_path: Path, line: bytes, path: str, says: str) -> None:
    log = RunLog(tmp_path / "run")
    for run in played(LONG)[:2]:
        log(run)
    with (tmp_path / "run").open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(SavedRunError, match=re.escape(says)) as caught:
        load(tmp_path / "run")
    assert caught.value.path.startswith(path)
    assert caught.value.file == str(tmp_path / "run")


def test_a_saved_run_that_somebody_laid_out_over_lines_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(json.dumps(to_json(RUN), indent=2))
    assert load(tmp_path / "run") == RUN
