"""What is reached is kept from moment to moment, and is what a walk over everything finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.frameworks import ai_sdk, mastra, strands
from agentcore.frameworks.ai_sdk.emulation.history import Prompted
from agentcore.heap.boundary_log import Names, Watch
from agentcore.heap.heap import Function, Heap, Ref, Store, keyed
from agentcore.heap.pollution import Pollution, Reach, ones
from agentcore.kit.families import PROFILE_NAMES, family_of
from agentcore.messages.values import vector
from agentcore.messages.vectors import changed_places, extend_vector, updated_vector
from agentcore.oracle.reports.explain import explain
from counting import calls_of, growth
from frameworks.mastra.test_mastra_run import settings as mastra_settings
from frameworks.strands.test_strands_run import settings as strands_settings
from heap import naive

pytestmark = pytest.mark.slow

# ---------------------------------------------------------------- vectors


@given(st.integers(0, 3_000), st.lists(st.integers(0, 2_999), max_size=8), st.integers(0, 100))
def test_the_places_at_which_vectors_differ_are_found(length: int, places: list[int], more: int) -> None:
    before = vector([object() for _ in range(length)])
    changes = {place: object() for place in places if place < length}
    after = updated_vector(before, changes, [object()] * more)
    assert sorted(changed_places(before, after)) == sorted(changes)
    assert sorted(changed_places(after, before)) == sorted(changes)
    assert changed_places(after, extend_vector(after, [object()] * more)) == []


def test_finding_where_vectors_differ_costs_what_differs() -> None:
    long = vector([object() for _ in range(100_000)])
    assert calls_of(lambda: changed_places(long, updated_vector(long, {7: None}, [1]))) < 2_000


# ---------------------------------------------------------------- any heap


@st.composite
def heaps(draw: st.DrawFn) -> list[Heap]:
    """A heap as it was at several moments, in which objects may hold each other and themselves."""
    store, moments = Store(), []
    size = draw(st.integers(1, 8))
    for _ in range(size):
        store.array(())
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            size += 1
            store.array(())
        for _ in range(draw(st.integers(0, 4))):
            slots = draw(st.lists(st.integers(0, size - 1).map(Ref) | st.just("scalar"), max_size=3))
            store.replace(Ref(draw(st.integers(0, size - 1))), tuple(slots))
        moments.append(store.heap())
    return moments


@given(heaps(), st.randoms(use_true_random=False))
def test_marks_and_paths_are_those_that_a_walk_finds(moments: list[Heap], drawn: Any) -> None:
    marks = {address: drawn.choice([0, 1, 2, 3]) for address in range(8)}
    reach = Reach(marks)
    for heap in (*moments, *reversed(moments), *drawn.sample(moments, len(moments))):
        reach.move_to(heap)
        for address in range(len(heap.cells)):
            walked = heap.reached(Ref(address))
            assert {*ones(reach.of(Ref(address)))} == {
                bit for bit in (0, 1) for one in walked if marks.get(one, 0) >> bit & 1
            }
            for mark in (1, 2):
                marked = [one for one in walked if marks.get(one, 0) & mark]
                nearest = min(marked, key=lambda one: (len(walked[one]), one), default=None)
                expected = None if nearest is None else walked[nearest]
                assert reach.path(Ref(address), mark) == expected
    assert (reach.of("scalar"), reach.path(None, 1)) == (0, None)


@given(heaps(), st.data())
def test_names_are_those_that_a_walk_finds_whatever_was_kept(
    moments: list[Heap], data: st.DataObject
) -> None:
    names = Names(["a", "b"])
    for heap in moments:
        some = st.integers(0, len(heap.cells) - 1).map(Ref) | st.none()
        holders = {
            name: data.draw(some) for name in data.draw(st.sampled_from(["ab", "abc", "abcd", "abd", "b"]))
        }
        names.move_to(heap, holders)
        assert names.aliases() == naive.aliases(heap, holders)


# ---------------------------------------------------------------- runs of all profiles


@pytest.mark.parametrize("profile", [name for name in PROFILE_NAMES if name != "immutable"])
def test_reports_of_runs_are_those_of_walks_over_everything(profile: str) -> None:
    family, written = family_of(profile), 0
    for program in family.programs(range(20, 32), profile):
        recorded = family.recording(program, profile)  # type: ignore[misc]
        assert recorded.loop is not None
        watch = Watch(recorded.loop)
        recorded.trace()
        run, report = watch.run, Pollution(watch.run)
        assert report.findings == naive.findings(run)
        written += len(run.desk.journal)
        carried = [naive.carriers(run, write) for write in run.desk.journal]
        assert list(report.carriers) == carried
        assert list(watch.objects) == [
            naive.objects(*each) for each in zip(run.desk.journal, watch.write_moments, strict=True)
        ]
        assert list(watch.aliases) == [naive.own_aliases(one) for one in watch.handed]
        for one in {one.step: one for one in watch.handed}.values():
            known = naive.aliases(one.snapshot.heap, one.snapshot.holders)
            assert watch.aliases_after(one.number) == known
        shown = [
            [*naive.shown(cells, write, watch.handed)]
            for cells, write in zip(carried, run.desk.journal, strict=True)
        ]
        assert [[*write.shown] for write in explain(program, profile).writes] == shown
    assert written


# ---------------------------------------------------------------- growth


def settings(steps: int, *, write: bool = True) -> ai_sdk.Settings:
    def shout(step: Any) -> None:
        if write:
            step["messages"][0]["content"][0]["text"] += "!"

    calls = [
        [{"type": "tool-call", "toolCallId": f"c{n}", "toolName": "look", "input": {"n": n}}]
        for n in range(steps - 1)
    ]
    return ai_sdk.Settings(
        messages=[{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        model=ai_sdk.Model.scripted(*calls, [{"type": "text", "text": "done"}]),
        tools={"look": ai_sdk.Tool(execute=lambda *_: "sun")},
        hooks=ai_sdk.Hooks(prepare_step=shout),
        max_steps=steps,
    )


def program(steps: int, profile: str) -> dict[str, Any]:
    calls = [
        [{"type": "tool-call", "toolCallId": f"c{n}", "toolName": "look", "input": {"n": n}}]
        for n in range(steps - 1)
    ]
    place = ["messages", 0, "content", 0, "text"]
    return {
        "id": "a",
        "path": profile.rpartition("/")[2],
        "maxSteps": steps,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
        "script": [*calls, [{"type": "text", "text": "done"}]],
        "tools": {"look": {"output": "sun"}},
        "hooks": {"prepareStep": [[{"set": place, "to": f"{n}"}] for n in range(steps)]},
    }


PROFILES: Final = ["ai-sdk-6/stream", "ai-sdk-6/generate", "ai-sdk-7/stream", "ai-sdk-7/generate"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_compat_run_grows_as_its_prompts_do_and_no_faster(profile: str) -> None:
    # At each step a prompt has new cells for all messages, so twice the steps make four times the cells.
    assert growth(lambda given: ai_sdk.run(profile, given), settings, 20) < 4
    written, plain = (calls_of(lambda: ai_sdk.run(profile, settings(40, write=one))) for one in (True, False))  # noqa: B023 - called at once
    assert written < 1.3 * plain


def cells_of(store: Store) -> list[Any]:
    """The cells of a store, functions by their names."""
    named = (
        (key, slot.name if isinstance(slot, Function) else slot)
        for cell in store.cells
        for key, slot in keyed(cell)
    )
    return [[type(cell) for cell in store.cells], [len(cell) for cell in store.cells], [*named]]


@pytest.mark.parametrize("profile", PROFILES)
def test_what_is_remembered_of_messages_makes_the_same_cells_for_less(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = [program(6, profile), *family_of(profile).programs(range(40, 120), profile)]

    def recorded() -> list[Any]:
        runs = [family_of(profile).recording(one, profile) for one in programs]  # type: ignore[misc]
        watched = [Watch(one.loop) for one in runs if one.loop is not None]
        traces = [one.trace() for one in runs]
        stores = [one.run.store for one in watched]
        return [traces, [(cells_of(one), one.origins) for one in stores], [one.objects for one in watched]]

    remembering, calls = recorded(), calls_of(lambda: ai_sdk.run(profile, settings(40)))
    monkeypatch.setattr(Prompted, "known", lambda *_: None)
    assert recorded() == remembering
    assert calls_of(lambda: ai_sdk.run(profile, settings(40))) > 1.3 * calls


@pytest.mark.parametrize("profile", PROFILES)
def test_the_pollution_report_is_made_when_it_is_read_and_grows_as_the_cells_do(profile: str) -> None:
    def ended(steps: int) -> Any:
        return ai_sdk.run(profile, settings(steps))

    assert growth(lambda ran: ran.pollution, ended, 20) < 4.5
    ran = ended(5)
    assert calls_of(lambda: ran.pollution) > 100
    assert calls_of(lambda: ran.pollution) < 10
    assert calls_of(lambda: ran.steps) > calls_of(lambda: ran.steps)


@pytest.mark.parametrize("profile", PROFILES)
def test_an_explanation_grows_as_the_cells_of_its_run_do(profile: str) -> None:
    assert growth(lambda given: explain(given, profile), lambda steps: program(steps, profile), 20) < 5
    found = explain(program(5, profile), profile)
    json.dumps(found.to_json())


# ---------------------------------------------------------------- made when it is read


def keeping(kept: list[Any]) -> Callable[[Any], None]:
    def hook(step: Any) -> None:
        kept.append(step["messages"][0])
        step["messages"][0]["content"] = "first"

    return hook


def test_a_view_that_a_hook_kept_changes_nothing_of_what_is_read_later() -> None:
    kept: list[Any] = []
    runs = [
        ai_sdk.run(
            "ai-sdk-6/stream",
            ai_sdk.Settings(
                messages=[{"role": "user", "content": "hi"}],
                model=ai_sdk.Model.scripted([{"type": "text", "text": "done"}]),
                hooks=ai_sdk.Hooks(prepare_step=keeping(kept)),
            ),
        )
        for _ in range(2)
    ]
    kept[1]["content"] = "after the run"
    assert runs[0].pollution == runs[1].pollution
    assert runs[0].steps == runs[1].steps
    assert [finding.write.after for finding in runs[1].pollution] == ["first"]


@pytest.mark.parametrize(
    "run",
    [
        lambda: mastra.run("mastra@1.71.0", mastra_settings()),
        lambda: strands.run("strands-ts@1.5.0", strands_settings()),
    ],
)
def test_the_reports_of_other_frameworks_are_made_when_they_are_read(run: Callable[[], Any]) -> None:
    ran = run()
    assert calls_of(lambda: ran.pollution) > 5 * calls_of(lambda: ran.pollution)
