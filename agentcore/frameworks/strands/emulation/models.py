"""The model stage: the hooks around a call, the chain of handlers, and the provider.

Rules strands.hooks-retry, strands.handler-errors, strands.state-writes-elsewhere and strands.copies-ungated.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from agentcore.frameworks.strands.emulation.agent import (
    Agent,
    as_text,
    context,
    context_field,
    field,
    inside,
    items,
    own,
    text_message,
)
from agentcore.frameworks.strands.emulation.settings import Model, Said
from agentcore.frameworks.strands.emulation.tools import Chains
from agentcore.frameworks.strands.emulation.turns import Steps
from agentcore.frameworks.strands.profiles import EmptyBlock, ModelState, StrandsProfile
from agentcore.heap.heap import UNDEFINED, ObjectCell, Ref, Slot, Store, Value
from agentcore.heap.js import PackageError
from agentcore.heap.loading import require_json, unfit
from agentcore.heap.views import Desk

TOOL_NAME: Final = re.compile("[a-zA-Z0-9_-]{1,64}")
_UNNAMED: Final = "INVALID_TOOL_NAME"
_BLANK: Final = "[blank text]"


class Models:
    """Asks the model. `prompted` gets what the provider is given, each time."""

    def __init__(self, agent: Agent, chains: Chains, model: Model, prompted: Callable[[Ref], None]) -> None:
        self.agent = agent
        self.profile = agent.profile
        self.store = agent.store
        self.chains = chains
        self.model = model
        self.prompted = prompted

    def run_attempts(self, state: Value, choice: Value) -> Steps[Ref]:
        """Returns the stage's result, a message and a stop reason, after all attempts that hooks ask for."""
        agent = self.agent
        while True:
            try:
                before = agent.event("beforeModel", invocationState=state)
                yield from agent.announce(before)
                denied = agent.denial(before, "model call denied by hook")
                result = (yield from self._stage(state, choice)) if denied is None else self._denied(denied)
                told = {name: field(self.store, result, name) for name in ("message", "stopReason")}
                after = agent.event("afterModel", **told, invocationState=state)
                yield from agent.announce(after)
                if agent.hook_setting(after, "retry") is UNDEFINED:
                    return result
            except Exception:
                after = agent.event("afterModel", invocationState=state)
                yield from agent.announce(after)
                if agent.hook_setting(after, "retry") is UNDEFINED:
                    raise

    def _denied(self, text: str) -> Ref:
        message = text_message(self.store, "assistant", text)
        return self.store.object({"message": message, "stopReason": "endTurn"})

    # ---------------------------------------------------------------- the stage

    def _stage(self, state: Value, choice: Value) -> Steps[Ref]:
        agent, rule = self.agent, self.profile.model_state
        entered = self._context(state, choice)
        live = rule is ModelState.LIVE
        snapshot = agent.model_state if live else cast("Ref", agent.copies.deep(agent.model_state))
        last = snapshot if rule is ModelState.PER_CHAIN else None

        def terminal(ctx: Ref) -> Steps[Ref]:
            nonlocal last
            if rule is ModelState.PER_ATTEMPT:
                last = cast("Ref", agent.copies.deep(snapshot))
            used = context_field(self.store, ctx, "modelState") if live else last
            return (yield from self._provider(ctx, used, forced=choice is not UNDEFINED))

        result = yield from self.chains.run("model", entered, terminal)
        if last is not None:
            agent.model_state = last
        if self.profile.measured:
            self.store.put(cast("Ref", field(self.store, result, "message")), "metadata", self._measures())
        return result

    def _context(self, state: Value, choice: Value) -> Ref:
        agent, copies, depths = self.agent, self.agent.copies, self.profile.model_copies
        return context(
            self.store,
            self.profile,
            "model",
            {
                "messages": copies.messages(agent.history, depths.messages, metadata=depths.metadata),
                "system": copies.blocks(agent.system, depths.system),
                "toolSpecs": copies.specs(agent.specs(), depths.tool_specs),
                "toolChoice": copies.value(choice, depths.tool_choice),
                "modelState": agent.model_state,
                "invocationState": copies.value(state, self.profile.state_copied),
            },
        )

    def _measures(self) -> Ref:
        usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        return cast("Ref", self.store.load({"usage": usage, "metrics": {"latencyMs": 0}}))

    # ---------------------------------------------------------------- the provider

    def _provider(self, ctx: Ref, model_state: Value, *, forced: bool) -> Steps[Ref]:
        answer = self._ask_model(self._request(ctx, model_state, forced=forced))
        state = context_field(self.store, ctx, "invocationState")
        yield from self._streamed(answer, state)
        if answer.said.error is not None:
            raise self._failure(answer.said.error)
        reason = answer.stop_reason
        if reason == "maxTokens" and not self.profile.truncated_kept:
            raise PackageError(*self.profile.errors.max_tokens)
        return self.store.object({"message": answer.message(), "stopReason": reason})

    def _ask_model(self, request: Ref) -> Answer:
        desk = self.agent.desk
        self.prompted(request)
        desk.hook = "model"
        try:
            said = self.model.answer(desk.hand(request, ("model",)))
        except Exception as error:
            raise self._failure(error) from error
        with desk.acting("model"):
            require_blocks(desk, said)
        return Answer(self.profile, self.store, said)

    def _failure(self, error: Exception) -> Exception:
        name = self.profile.errors.provider
        return error if name is None else PackageError(name, str(error))

    def _streamed(self, answer: Answer, state: Value) -> Steps[None]:
        """Makes the blocks of an answer, and notifies hooks of what comes."""
        yield from self._stream_events("modelDelta", state)
        for block in answer.blocks:
            yield from self._stream_events("modelDelta", state, times=2 + deltas(block))
            made = answer.make(block)
            yield from self._stream_events("contentBlock", state, block=UNDEFINED if made is None else made)
        yield from self._stream_events("modelDelta", state)

    def _stream_events(
        self, name: str, state: Value, *, times: int = 1, block: Value = UNDEFINED
    ) -> Steps[None]:
        if self.profile.streams_told and self.agent.hooks[name]:
            for _ in range(times):
                yield self.agent.event(name, block=block, invocationState=state)

    def _request(self, ctx: Ref, model_state: Value, *, forced: bool) -> Ref:
        store = self.store
        choice = context_field(store, ctx, "toolChoice")
        request: dict[str, Value] = {
            "messages": self._messages(context_field(store, ctx, "messages")),
            "system": self._system(context_field(store, ctx, "system")),
            "toolSpecs": self._specs(context_field(store, ctx, "toolSpecs"), choice, forced=forced),
            "toolChoice": choice,
            "modelState": model_state,
        }
        return store.object(request)

    def _system(self, system: Slot) -> Slot:
        listed = isinstance(system, str) and self.profile.system_listed
        return self.store.load([{"text": system}]) if listed else system

    def _specs(self, specs: Slot, choice: Slot, *, forced: bool) -> Slot:
        """The descriptions that the provider is given: one that has to give structured output gets one."""
        plain = self.store.plain(choice)
        if not forced or not self.profile.structured_specs_only or not plain or "tool" not in plain:
            given = self.profile.empty_specs_given or self.store.plain(specs)
            return specs if given else self.store.array(())
        # What this raises for a choice that somebody made into something else, the SDK raises.
        wanted = plain["tool"]["name"]
        kept = [spec for spec in items(self.store, specs) if field(self.store, spec, "name") == wanted]
        return self.store.array(kept)

    def _messages(self, messages: Value) -> Value:
        """The messages as the provider is given them."""
        profile, store = self.profile, self.store
        shown = self.agent.copies.messages(messages, profile.provider_messages)
        told = [self._message(message) for message in items(store, shown)]
        if all(new is old for new, old in zip(told, items(store, shown), strict=True)):
            return shown
        return store.derive(store.array(told), shown)

    def _message(self, message: Slot) -> Slot:
        fields = dict(own(self.store, message))
        changed = False
        if fields.get("role") == "assistant":
            blocks = list(items(self.store, fields.get("content")))
            told = self._blocks(blocks)
            if told != blocks:
                fields["content"] = self.store.derive(self.store.array(told), fields.get("content"))
                changed = True
        if not self.profile.provider_metadata:
            changed = fields.pop("metadata", None) is not None or changed
        return self.store.derive(self.store.object(dict(fields)), message) if changed else message

    def _blocks(self, blocks: list[Slot]) -> list[Slot]:
        """An assistant's blocks under names that tools can have, and without blank texts."""
        named = [self._named(block) for block in blocks]
        if not self.profile.provider_blanks_filled:
            return named
        if not named:
            return [self.store.load({"text": _BLANK})]
        if any(isinstance(inside(self.store, block, "toolUse"), Ref) for block in named):
            return [block for block in named if not self._is_blank(block)]
        return [self.store.load({"text": _BLANK}) if self._is_blank(block) else block for block in named]

    def _is_blank(self, block: Slot) -> bool:
        text = inside(self.store, block, "text")
        return isinstance(text, str) and not text.strip()

    def _named(self, block: Slot) -> Slot:
        use = inside(self.store, block, "toolUse")
        if not isinstance(use, Ref) or TOOL_NAME.fullmatch(as_text(self.store, use, "name")):
            return block
        renamed = self.store.object(dict(ObjectCell({**own(self.store, use), "name": _UNNAMED})))
        return self.store.derive(self.store.object({"toolUse": renamed}), block)


def choice_of(store: Any, name: str) -> Ref:
    """The tool choice that asks for one tool."""
    return cast("Ref", store.load({"tool": {"name": name}}))


# What a model says, put together to a message.

Block = Mapping[str, Any]

# What `trim` of JavaScript takes away.
_SAID_BLANK: Final = re.compile("[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*")


class Answer:
    """One answer of a model: its blocks, made one by one, and why it stopped."""

    def __init__(self, profile: StrandsProfile, store: Store, said: Any) -> None:
        self.profile = profile
        self.store = store
        self.said = said if isinstance(said, Said) else Said(blocks=said)
        # Whatever the model holds on to, an answer is new.
        self.blocks: list[Block] = [copy.deepcopy(dict(block)) for block in self.said.blocks]
        self.made: list[Ref] = []

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        used = any("toolUse" in block for block in self.blocks)
        reason = self.said.stop_reason or ("toolUse" if used else "endTurn")
        answered = any("toolUse" in self._fields(ref) for ref in self.made)
        wins = self.profile.tool_use_wins and reason == "endTurn" and answered
        return "toolUse" if wins else reason

    def make(self, block: Block) -> Ref | None:
        """The next block as it enters the message; None if the SDK takes it for nothing."""
        kept = (
            _normalize_block(block) if self.profile.empty_block is EmptyBlock.TEXT else _worth_keeping(block)
        )
        if kept is None:
            return None
        ref: Ref = self.store.load(kept)
        self.made.append(ref)
        return ref

    def message(self) -> Ref:
        """The message of the blocks as they are by now."""
        kept = [ref for ref in self.made if self.profile.blank_texts_kept or not self._is_blank(ref)]
        return self.store.object({"role": "assistant", "content": self.store.array(kept)})

    def _is_blank(self, ref: Ref) -> bool:
        text = inside(self.store, ref, "text")
        return isinstance(text, str) and _SAID_BLANK.fullmatch(text) is not None

    def _fields(self, ref: Ref) -> Any:
        return self.store.cells[ref.address]


def require_blocks(desk: Desk, said: Any) -> None:
    """Checks what a model answered.

    Raises:
        HostValueError: if it is neither a `Said` nor a list of blocks.
    """
    desk.settled(said)
    blocks = said.blocks if isinstance(said, Said) else said
    if not isinstance(blocks, Sequence) or isinstance(blocks, str | bytes):
        raise desk.refuse(unfit("$", blocks, "a list of blocks, or Said"))
    for index, block in enumerate(blocks):
        if not isinstance(block, Mapping):
            raise desk.refuse(unfit(f"$[{index}]", block, "a block, which is an object"))
    require_json(desk, blocks)


def deltas(block: Block) -> int:
    """Returns the number of pieces in which a block is streamed."""
    return sum(kind in block for kind in ("text", "toolUse", "reasoning"))


def _normalize_block(block: Block) -> Block:
    """Returns a block as in TypeScript, where one of nothing is an empty text."""
    use, reasoning = block.get("toolUse"), block.get("reasoning")
    if use and use["toolUseId"]:
        return {"toolUse": _use(use)}
    said = {name: text for name, text in (reasoning or {}).items() if text}
    return {"reasoning": said} if said else {"text": block.get("text", "")}


def _worth_keeping(block: Block) -> Block | None:
    """A block in Python, where one of nothing is left out."""
    use, reasoning = block.get("toolUse"), block.get("reasoning")
    if use:
        return {"toolUse": _use(use)} if use["toolUseId"] and use["name"] else None
    if reasoning:
        told = reasoning.get("text") or "signature" in reasoning
        return {"reasoning": {"text": "", **reasoning}} if told else None
    return block if block.get("text") else None


def _use(use: Block) -> Block:
    return {"name": use["name"], "toolUseId": use["toolUseId"], "input": use.get("input", {})}
