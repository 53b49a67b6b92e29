"""A step's content as it is streamed: what is ready first is recorded first (claim X18), turn for turn."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Final

from agentcore.frameworks.ai_sdk.emulation.calls import (
    Asked,
    Calls,
    HookError,
    StepCalls,
    Wait,
)
from agentcore.frameworks.ai_sdk.emulation.flow import Chunk, Flow
from agentcore.frameworks.ai_sdk.emulation.offered import forbids_calls
from agentcore.frameworks.ai_sdk.emulation.recorder import Recorded, Recorder, Sent
from agentcore.frameworks.ai_sdk.emulation.streams import (
    END,
    Body,
    Give,
    Promise,
    Readable,
    Transform,
    Writable,
    asynchronous,
    pass_on,
    pipe,
    through,
)
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, Pace
from agentcore.heap.heap import UNDEFINED, Ref, Value
from agentcore.heap.js import elements, get, is_nullish, plus

_TEXTS: Final = ("text", "reasoning")
_OUTPUTS: Final = ("tool-result", "tool-error")
_NOT_PASSED: Final = ("model-start", "model-end", "tool-end")
_RECORDED: Final = frozenset(
    {*_OUTPUTS, "source", "tool-call", "tool-approval-request", "tool-approval-response"}
)


class Streamed(Recorder):
    """Records the parts of one step.

    The model's chunks are parsed as calls, tools run as calls come or once the model has sent all, and every
    chunk goes the way of the package's streams to the observer, who records it.
    """

    def __init__(self, profile: AiSdkProfile, pace: Pace, calls: Calls, step: StepCalls, flow: Flow) -> None:
        super().__init__(profile, calls, step)
        self.pace = pace
        self.flow = flow
        self.turns = flow.turns

    def record(self, sent: Sent) -> Recorded:
        """The content of the step."""
        self.recorded = Recorded()
        self.sent = sent
        self.by_id: dict[Value, Ref] = {}
        # By their ids: of those that share one, the last (the choice of a tool is held against these).
        self.called: dict[Value, Ref] = {}
        self.waiting: list[Ref] = []
        # The time, in moments, and the tools that wait: until when, their number, and what that settles.
        self.moment = 0
        self.slow: list[tuple[int, int, Promise]] = []
        self.slept = count()
        self.texts: dict[tuple[str, Value], Ref] = {}
        self.begun = False
        self.thrown: HookError | None = None
        self.withheld = self.profile.tool_choice_enforced and forbids_calls(self.store, self.step.choice)
        self.flow.observe = self._observe
        if self.flow.heard or self.profile.answers_merged:
            self._passed(self._model(sent))
        else:
            self.turns.call(self._straight(sent))
        self.turns.run()
        while self.slow:
            self.moment, _, due = heapq.heappop(self.slow)
            due.settle()
            self.turns.run()
        if self.thrown is not None:
            raise self.thrown
        return self.recorded

    def _model(self, sent: Sent) -> Readable:
        """The stream that the model's call gave, some turns ago."""
        model = Readable(self.turns)
        for chunk in self._chunks(sent):
            model.enqueue(chunk)
        model.close()
        self.turns.run()
        return model

    def _straight(self, sent: Sent) -> Body:
        """Handles chunk after chunk where they pass in one row and nobody can tell when."""
        for chunk in self._chunks(sent):
            parsed: list[Chunk] = []
            yield from self._parse_calls(chunk, parsed.append)
            for each in parsed:
                yield from self._tell_tools(each, lambda _: None)
                yield from self._run_tools(each, self._keep)

    def _chunks(self, sent: Sent) -> Iterator[Chunk]:
        """What the model sends, chunk by chunk."""
        yield Chunk("model-start")
        for index, part in enumerate(self.parts(sent)):
            kind = str(self.kind(part))
            if kind not in _TEXTS:
                yield Chunk(kind, part)
                continue
            own = get(self.store, part, "id")
            of_text = partial(Chunk, id=self._part_id(kind, f"{index}" if own is UNDEFINED else own), of=part)
            yield of_text(f"{kind}-start")
            for delta in self._deltas(part):
                yield of_text(f"{kind}-delta", text=delta)
            yield of_text(f"{kind}-end")
        yield Chunk("model-end")

    def _deltas(self, part: Ref) -> Iterable[str]:
        deltas = get(self.store, part, "deltas")
        return (get(self.store, part, "text"),) if is_nullish(deltas) else elements(self.store, deltas)  # type: ignore[return-value]

    def _part_id(self, kind: str, own: Value) -> Value:
        """The id of a text: one that was used before is replaced by one that the package draws."""
        if not self.profile.part_ids_reserved:
            return own
        made = self.calls.drawn() if (kind, own) in self.flow.used_ids else own
        self.flow.used_ids.add((kind, own))
        return made

    # ---------------------------------------------------------------- what chunks pass

    def _async(self, function: Callable[[Chunk, Give], Body]) -> Transform:
        return Transform(self.turns, asynchronous(self.turns, function), lambda: Promise(self.turns))

    def _passed(self, model: Readable) -> None:
        if self.profile.answers_merged:
            merged = self._merged(model)
            if self.flow.heard:
                self._put_in(merged)
            return
        called = through(self.turns, model, self._async(self._parse_calls))
        iterable = through(self.turns, called, pass_on(self.turns))

        def rest(_: object) -> None:
            tried = self._tried(iterable)
            available = through(self.turns, tried, self._async(self._tell_tools))
            self._put_in(through(self.turns, available, self._async(self._run_tools)))

        self.turns.after(self.pace.built, rest)

    def _put_in(self, stream: Readable) -> None:
        self.flow.add(through(self.turns, stream, self._async(self._of_step)))

    def _merged(self, model: Readable) -> Readable:
        """The model's chunks, and what answers calls, as each is ready."""
        self.answers = Readable(self.turns)
        merged = Readable(self.turns, starts=None)

        def write(chunk: Chunk) -> Promise:
            (merged.enqueue if self.flow.heard else self._keep)(chunk)
            return self.turns.settled()

        forwarded = through(self.turns, model, self._async(self._forward))
        for stream in (forwarded, self.answers):
            pipe(self.turns, stream, Writable(self.turns, write, lambda: None))
        return merged

    def _of_step(self, chunk: Chunk, give: Give) -> Body:
        if chunk.kind != "model-start" and not self.begun:
            self.begun = True
            give(Chunk("start-step"))
        if chunk.kind not in _NOT_PASSED and (chunk.kind != "text-delta" or chunk.text):
            give(chunk)
        yield from ()

    # ---------------------------------------------------------------- calls

    def _parsed(self, part: Ref) -> Body:
        """Parses a call; an unknown tool takes fewer turns than one whose input is parsed."""
        call = self.parse(part, self.sent)
        known = 0 if is_nullish(self.step.known) else 1
        invalid = bool(get(self.store, call, "invalid"))
        turns = (1 if invalid else self.pace.parse) + known
        if invalid and get(self.store, get(self.store, call, "error"), "name") == "AI_InvalidToolInputError":
            turns += 1
        for _ in range(turns):
            yield None
        self.called[get(self.store, call, "toolCallId")] = call
        return call

    def _call_chunk(self, call: Ref) -> Chunk:
        recorded = self.recorded_call(call)
        self.recorded.calls.append(recorded)
        if self.profile.results_as_ready:
            self.by_id[get(self.store, call, "toolCallId")] = call
        return Chunk("tool-call", recorded, of=call, invalid=bool(get(self.store, call, "invalid")))

    def _forward(self, chunk: Chunk, give: Give) -> Body:
        """The one place that the chunks of a step pass where answers are merged with them."""
        if chunk.kind == "model-end":
            if self._ended(give):
                for call in self.waiting:
                    self.turns.call(self._running(call, self.answers.enqueue))
        elif chunk.kind == "tool-call" and self.withheld:
            call = self.parse(chunk.ref, self.sent)  # type: ignore[arg-type]
            self.called[get(self.store, call, "toolCallId")] = call
        elif chunk.kind == "tool-call":
            yield from self._forward_call(chunk, give)
        elif chunk.kind == "tool-result":
            if not self.withheld:
                result = self._of_provider(chunk)
                (give if result.kind == "tool-result" else self.answers.enqueue)(result)
        else:
            give(chunk)

    def _forward_call(self, chunk: Chunk, give: Give) -> Body:
        call = yield self.turns.call(self._parsed(chunk.ref))  # type: ignore[arg-type]
        made = self._call_chunk(call)
        give(made)
        if made.invalid:
            if self.answered_here(call):
                self.answers.enqueue(Chunk("tool-error", self.calls.invalid_result(call)))
            return
        if is_nullish(self.tool(call)):
            return
        if self.calls.hears_input(call, self.step):
            self.calls.input_available(call, self.step)
            yield None
        asked = yield self.turns.call(self._asked(call))
        if asked is not None:
            yield from self._turns(self.pace.signed)
            self.answers.enqueue(Chunk("tool-approval-request", asked.request))
            return
        self.by_id[get(self.store, call, "toolCallId")] = call
        if not self._runs(call):
            return
        if self.profile.results_as_ready:
            self.waiting.append(call)
        else:
            self.turns.call(self._running(call, self.answers.enqueue))

    def _parse_calls(self, chunk: Chunk, give: Give) -> Body:
        if chunk.kind == "model-end":
            yield from self._turns(self.pace.model_ended)
            self._ended(give, chunk)
        elif chunk.kind == "tool-call":
            call = yield self.turns.call(self._parsed(chunk.ref))  # type: ignore[arg-type]
            if self.withheld:
                return
            made = self._call_chunk(call)
            give(made)
            if made.invalid and self.answered_here(call):
                give(Chunk("tool-error", self.calls.invalid_result(call)))
        elif chunk.kind == "tool-result":
            if not self.withheld:
                give(self._of_provider(chunk))
        else:
            give(chunk)

    def _ended(self, give: Give, end: Chunk | None = None) -> bool:
        """Whether tools may run, now that the model has sent all."""
        self.recorded.broken = self.chosen(self.called.values())
        if end is not None:
            give(end)
        if self.recorded.broken is not None:
            give(Chunk("error", self.calls.error_part(self.recorded.broken)))
        return self.recorded.broken is None

    def _tried(self, source: Readable) -> Readable:
        """The model's chunks, of a first try that was not broken; an error is reported where it is seen."""

        def pull() -> Body:
            chunk = yield source.read()
            if chunk is END:
                tried.close()
                return
            if chunk.kind == "error":
                yield from self._told(chunk)
            tried.enqueue(chunk)

        tried = Readable(self.turns, asynchronous(self.turns, pull))
        return tried

    def _tell_tools(self, chunk: Chunk, give: Give) -> Body:
        give(chunk)
        if chunk.kind != "tool-call" or chunk.invalid or chunk.of is None:
            return
        if self.calls.hears_input(chunk.of, self.step):
            yield from self._turns(self.pace.context)
            self.calls.input_available(chunk.of, self.step)
            yield None

    def _run_tools(self, chunk: Chunk, give: Give) -> Body:
        give(chunk)
        if chunk.kind == "model-end" and self.recorded.broken is None:
            waiting = iter(self.waiting)
            most = self.calls.concurrency or len(self.waiting)
            workers = [self.turns.call(self._working(waiting, give)) for _ in range(most)]
            yield from workers
        call = chunk.of
        if chunk.kind != "tool-call" or chunk.invalid or call is None or is_nullish(self.tool(call)):
            return
        asked = yield self.turns.call(self._asked(call))
        if asked is not None:
            yield from self._turns(self.pace.signed)
            self._answer(asked, give)
        if (asked is None or not asked.blocks) and self._runs(call):
            self.waiting.append(call)

    def _answer(self, asked: Asked, give: Give) -> None:
        give(Chunk("tool-approval-request", asked.request))
        if asked.response is None:
            return
        give(Chunk("tool-approval-response", asked.response))
        self.recorded.answers.append(asked.response)
        if asked.blocks:
            give(Chunk("tool-output-denied", self.calls.denied(asked.response)))

    def _working(self, waiting: Iterator[Ref], give: Give) -> Body:
        for call in waiting:
            yield self.turns.call(self._running(call, give))

    def _asked(self, call: Ref) -> Body:
        """What is asked of a call; a function that says so is waited for."""
        if not self.calls.asks_function(call, self.step):
            return self.calls.ask_approval(call, self.step)
        yield from self._turns(self.pace.context)
        asked = self.calls.ask_approval(call, self.step)
        yield None
        return asked

    def _runs(self, call: Ref) -> bool:
        if get(self.store, call, "providerExecuted") is True:
            return False
        return not is_nullish(get(self.store, self.tool(call), "execute"))

    def _running(self, call: Ref, give: Give) -> Body:
        running = self.calls.running(call, self.step)
        while True:
            try:
                wait = next(running)
            except StopIteration as ended:
                result = ended.value
                break
            if wait is Wait.TOOL:
                due = Promise(self.turns)
                heapq.heappush(self.slow, (self.moment + self.calls.takes(call), next(self.slept), due))
                yield due
            else:
                yield from self._turns(self._takes(wait))
        if result is None:
            return
        if not self.profile.answers_merged:
            give(Chunk("tool-end"))
        give(Chunk(str(self.kind(result)), result))

    def _takes(self, wait: Wait) -> int:
        """The turns that a wait takes; of a tool that waits itself, its own are added."""
        pace = self.pace
        turns = {
            Wait.START: pace.start,
            Wait.HOOK: pace.hook,
            Wait.NO_HOOK: pace.no_hook,
            Wait.RETURN: pace.returned,
            Wait.THROW: pace.thrown,
            Wait.REJECTION: pace.thrown + 1,
            Wait.RESULT: pace.result,
            Wait.ERROR: pace.error,
        }
        return turns[wait]

    def _of_provider(self, chunk: Chunk) -> Chunk:
        part: Ref = chunk.ref  # type: ignore[assignment]
        call = self.by_id.get(get(self.store, part, "toolCallId"), UNDEFINED)
        result = self.provider_result(part, call, get(self.store, part, "dynamic"))
        return Chunk(str(self.kind(result)), result)

    def _turns(self, turns: int) -> Iterator[None]:
        for _ in range(turns):
            yield None

    # ---------------------------------------------------------------- the observer

    def _observe(self, chunk: Chunk) -> Body:
        """Notifies of a chunk, and records it; an error was reported before."""
        if chunk.kind != "error" or self.profile.answers_merged:
            yield from self._told(chunk)
        self._keep(chunk)

    def _told(self, chunk: Chunk) -> Body:
        """Shows a chunk to whoever listens to the stream; what a failing one throws may end it."""
        if chunk.kind not in self.profile.chunks_told:
            return
        on_chunk = self.calls.hooks.on_chunk
        if on_chunk is not None:
            chunk.ref = chunk.ref or self._shown(chunk)
            try:
                self.calls.show_chunk(chunk.ref)
            except HookError as error:
                self.thrown = error
                yield Promise(self.turns)
            yield from self._turns(self.pace.chunk_hook)
        yield from self._turns(self.pace.chunk)

    def _shown(self, chunk: Chunk) -> Ref:
        """The object of a chunk that is none of the parts themselves."""
        store = self.store
        made: dict[str, Value] = {"type": chunk.kind}
        if chunk.kind == "start-step":
            made |= {"request": store.object({}), "warnings": store.array(())}
            self.recorded.start = store.object(made)
            return self.recorded.start
        made["id"] = chunk.id
        metadata = get(store, chunk.of, "providerMetadata")
        if chunk.kind.endswith("-delta"):
            made |= {"text": chunk.text, "providerMetadata": UNDEFINED}
        elif chunk.kind.endswith("-start") and metadata is not UNDEFINED:
            made["providerMetadata"] = metadata
        return store.object(made)

    def _keep(self, chunk: Chunk) -> None:
        """Records a chunk as the observer left it."""
        if chunk.id is not None:
            self._keep_text(chunk)
        elif chunk.ref is not None:
            if self.kind(chunk.ref) in _RECORDED:
                self.recorded.content.append(chunk.ref)
            if chunk.kind in _OUTPUTS:
                self.recorded.outputs.append(chunk.ref)

    def _keep_text(self, chunk: Chunk) -> None:
        """A text or reasoning part begins empty, and its deltas are added."""
        store, shown = self.store, chunk.ref
        kind, _, event = (chunk.kind if shown is None else str(self.kind(shown))).partition("-")
        own = (kind, chunk.id if shown is None else get(store, shown, "id"))
        metadata = get(store, chunk.of if shown is None else shown, "providerMetadata")
        if event == "start":
            self.texts[own] = store.object({"type": kind, "text": "", "providerMetadata": metadata})
            self.recorded.content.append(self.texts[own])
        part = self.texts.get(own)
        if part is None:
            return
        if event == "delta":
            added = chunk.text if shown is None else get(store, shown, "text")
            store.put(part, "text", plus(store, get(store, part, "text"), added))  # type: ignore[arg-type]
        if shown is not None and not is_nullish(metadata):
            store.put(part, "providerMetadata", metadata)  # type: ignore[arg-type]
        if event == "end":
            del self.texts[own]
