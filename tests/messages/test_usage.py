from __future__ import annotations

import pytest

from agentcore.agent.models import base
from agentcore.messages.content import Usage


def test_usages_add_up_field_by_field() -> None:
    one = Usage(1, 2, cached_input_tokens=3, reasoning_tokens=4)
    other = Usage(10, 20, cached_input_tokens=30, reasoning_tokens=40)
    assert one + other == Usage(11, 22, cached_input_tokens=33, reasoning_tokens=44)
    assert (one + other).total_tokens == 33


def test_a_usage_and_a_number_do_not_add_up() -> None:
    with pytest.raises(TypeError):
        Usage() + 1


def test_models_answer_with_the_usage_of_the_core() -> None:
    assert base.Usage is Usage
