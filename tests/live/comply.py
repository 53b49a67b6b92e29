"""Runs the compliance suite on the adapter of one framework, under the interpreter that runs this file.

Arguments: the framework, and how many conversations. Prints, for each test of the suite, its name and what is
wrong, as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any, Final

_LIVE: Final = Path(__file__).parent
_WORKER: Final = _LIVE.parent.parent / "agentcore" / "live" / "worker.py"
_CLASSES: Final = {
    ("langchain", "wrap_model_call"): "WrapModelCallClean",
    ("openai-agents", "on_llm_start"): "OnLlmStartClean",
}


def main(framework: str, examples: str) -> None:
    """Runs all tests of the suite."""
    spec = importlib.util.spec_from_file_location("live_worker", _WORKER)
    worker: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(worker)  # type: ignore[union-attr]
    worker._import_bare()
    from agentcore.live.adapters import adapter_named
    from agentcore.live.compliance import AdapterCompliance

    file = _LIVE / "hooks" / f"{framework.replace('-', '_')}_hooks.py"
    pairs = {
        at: (f"{file}#{at}_pollutes", f"{file}#{_CLASSES.get((framework, at), f'{at}_clean')}")
        for at in adapter_named(framework).boundaries
    }
    body = {"adapter": framework, "hooks": pairs, "examples": int(examples)}
    suite = type("Suite", (AdapterCompliance,), body)()
    found = {name: _failure(getattr(suite, name)) for name in dir(suite) if name.startswith("test_")}
    print(json.dumps(found))


def _failure(test: Any) -> str | None:
    try:
        test()
    except Exception as error:  # noqa: BLE001 - whatever fails is what is reported
        return f"{type(error).__name__}: {error}"[:2000]
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
