from __future__ import annotations

import functools
import pickle
from typing import Any

import attrs
import pytest

from agentcore.agent.call.config import with_prepare_step
from agentcore.agent.call.errors import outcome_of_error
from agentcore.errors import (
    ImmutableWriteError,
    InvalidJsonError,
    InvalidOverrideError,
    InvalidProcessorError,
    ProcessorFailedError,
)
from agentcore.machine.processors import (
    MessageList,
    NamedProcessor,
    Tripwire,
    TripwireError,
    abort,
    named_processors,
)
from agentcore.messages.values import freeze
from agentcore.requirements.rules import Rule
from processing import a_call, a_step
from rulebook import states

# ---------------------------------------------------------------- names


class Whole:
    id = "whole"

    def process_input(self, _: Any) -> None:
        raise AssertionError

    def process_input_step(self, _: Any) -> None:
        raise AssertionError


class Calling:
    id = "calling"

    def __call__(self, _: Any) -> None:
        raise AssertionError


def plain(_: Any) -> None:
    raise AssertionError


def test_objects_and_functions_are_processors_each_with_its_name() -> None:
    whole, calling = Whole(), Calling()
    given: list[Any] = [whole, plain, calling, whole.process_input_step]
    assert named_processors(given) == (
        NamedProcessor(
            id="whole", process_input=whole.process_input, process_input_step=whole.process_input_step
        ),
        NamedProcessor(id="plain", process_input_step=plain),
        NamedProcessor(id="calling", process_input_step=calling),
        NamedProcessor(id="process_input_step", process_input_step=whole.process_input_step),
    )
    assert named_processors(named_processors(given)) == named_processors(given)


def test_functions_of_one_name_are_numbered() -> None:
    first, second, third = (lambda _: None for _ in range(3))
    assert [one.id for one in named_processors([first, plain, second, third, plain])] == [
        *("<lambda>", "plain", "<lambda>-2", "<lambda>-3", "plain-2")
    ]


class Nameless:
    def process_input(self, _: Any) -> None:
        raise AssertionError


class Numbered(Nameless):
    id = 7


class Idle:
    id = "idle"
    process_input = "no method"


@pytest.mark.parametrize(
    ("given", "name", "says"),
    [
        ([7], "int", "it is not a processor"),
        ([Idle()], "idle", "it is not a processor"),
        ([Whole], "whole", "it is not a processor"),
        ([Nameless()], "Nameless", "it has no id"),
        ([Numbered()], "Numbered", "it has no id"),
        ([functools.partial(plain)], "partial", "it has no id"),
        ([Whole(), Whole()], "whole", "two processors have this id"),
        (
            [NamedProcessor(id="prepare_step", process_input=plain)],
            "prepare_step",
            "two processors have this id",
        ),
    ],
)
def test_what_is_no_processor_or_has_no_name_of_its_own_is_refused(given: Any, name: str, says: str) -> None:
    with pytest.raises(InvalidProcessorError, match=says) as refused:
        named_processors(given)
    assert refused.value.processor == name


@states(Rule.PROCESSOR_ORDER)
def test_prepare_step_is_the_last_processor() -> None:
    named = named_processors([plain])
    assert with_prepare_step(named, None) is named
    assert with_prepare_step(named, plain) == (
        *named,
        NamedProcessor(id="prepare_step", process_input_step=plain),
    )


# ---------------------------------------------------------------- what they are handed


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("messages", 'return {"messages": ...} instead'),
        ("model", 'return {"model": ...} instead'),
        ("lasting_messages", 'return {"lasting_messages": ...} instead'),
        ("step_number", "step_number cannot be returned"),
        ("anything", "anything cannot be returned"),
    ],
)
def test_a_write_into_what_a_step_processor_is_handed_says_what_to_return(name: str, says: str) -> None:
    step = a_step().arguments("p")
    with pytest.raises(ImmutableWriteError) as refused:
        setattr(step, name, None)
    assert refused.value.path == f"$.{name}"
    assert says in str(refused.value)


def test_process_input_may_return_less_and_says_so() -> None:
    call = a_call().arguments("p")
    with pytest.raises(ImmutableWriteError, match=r'return {"system_messages": \.\.\.} instead'):
        call.system_messages = call.system_messages  # type: ignore[misc]
    with pytest.raises(ImmutableWriteError, match="model cannot be returned"):
        call.model = "n"  # type: ignore[attr-defined]


def test_arguments_do_not_show_what_may_be_secret() -> None:
    step = attrs.evolve(a_step(), experimental_context=freeze({"key": "secret"}))
    text = repr(step.of_call(freeze({"headers": "secret"}), None).arguments("p"))  # type: ignore[arg-type]
    assert "secret" not in text


# ---------------------------------------------------------------- abort


def test_abort_raises_what_carries_its_words() -> None:
    with pytest.raises(TripwireError, match=r"^no$") as raised:
        abort("no", retry=True, metadata={"why": [1]})
    error = raised.value
    assert (error.reason, error.retry, error.metadata) == ("no", True, freeze({"why": [1]}))
    again = pickle.loads(pickle.dumps(error))
    assert (again.reason, again.retry, again.metadata) == (error.reason, error.retry, error.metadata)
    with pytest.raises(TripwireError, match="a processor ended the run"):
        a_step().arguments("p").abort()
    with pytest.raises(InvalidJsonError):
        abort(metadata=object())


@states(Rule.PROCESSOR_ABORT_ENDS)
def test_a_tripwire_is_of_the_processor_whose_turn_it_is() -> None:
    error = TripwireError("no", retry=True, metadata=[1])
    step, call = a_step(number=3).arguments("p"), a_call().arguments("q")
    assert outcome_of_error(step, error) == Tripwire(
        processor_id="p", step_number=3, reason="no", retry=True, metadata=[1]
    )
    assert outcome_of_error(call, TripwireError()) == Tripwire(processor_id="q")


@states(Rule.PROCESSOR_FAILURE_NAMED)
def test_what_a_processor_raises_is_named_after_it() -> None:
    step = a_step(number=3).arguments("p")
    error = ValueError("broken")
    failed = outcome_of_error(step, error)
    assert isinstance(failed, ProcessorFailedError)
    assert failed.__cause__ is error
    assert str(failed) == "processor 'p' at step 3: ValueError: broken"
    own = InvalidOverrideError("$.model", "use the model's id, a text")
    assert isinstance(outcome_of_error(a_call().arguments("q"), own), ProcessorFailedError)
    named = own.by("p", 3)
    assert outcome_of_error(step, named) is named


@states(Rule.LIST_COMMITTED_ON_RETURN)
def test_the_list_of_a_processor_that_raised_is_closed() -> None:
    step = a_step().arguments("p")
    outcome_of_error(step, ValueError())
    assert isinstance(step.message_list, MessageList)
    assert repr(step.message_list) == "<MessageList: closed>"
