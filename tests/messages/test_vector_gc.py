"""pyrsistent's C vector lets the garbage collector clear messages that are alive; ours are of the other kind.

Run in a process of its own, since what the collector has cleared may take the process with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import pyrsistent
import pytest
from pyrsistent._pvector import python_pvector

pytestmark = pytest.mark.slow

# Two vectors share a node that holds the message, and die together in a reference cycle.
SCRIPT: Final = """
import gc
from pyrsistent import pvector
from agentcore.messages.messages import AssistantMessage, TextPart, UserMessage
from agentcore.messages.values import extend_vector, vector

class Holder: pass

def longer(shared, message):
    return shared.append(message) if type(shared) is type(pvector()) else extend_vector(shared, [message])

def survives(make):
    kept = UserMessage([TextPart("kept")])
    shared = make([kept, *(UserMessage(str(n)) for n in range(263))])
    holder = Holder()
    holder.itself = holder
    holder.left = longer(shared, AssistantMessage("left"))
    holder.right = longer(shared, AssistantMessage("right"))
    del shared, holder
    gc.collect()
    try:
        return kept.content[0].text == "kept"
    except AttributeError:
        return False

print(survives(MAKE))
"""


def run_with(make: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYRSISTENT_NO_C_EXTENSION"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("MAKE", make)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else f"exit {done.returncode}: {done.stderr}"


def test_messages_in_our_vectors_survive_the_garbage_collector() -> None:
    assert run_with("vector") == "True"


def test_messages_in_our_vectors_survive_when_the_vector_was_made_of_a_c_vector() -> None:
    assert run_with("lambda items: vector(pvector(items))") == "True"


@pytest.mark.skipif(pyrsistent.pvector is python_pvector, reason="pyrsistent has no C extension here")
def test_messages_in_the_c_vector_do_not() -> None:
    # Once this fails the fault is mended upstream (tobgu/pyrsistent#283), and `vector` may think again.
    assert run_with("pvector") != "True"
