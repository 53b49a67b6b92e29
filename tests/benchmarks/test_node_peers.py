from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks import asking
from benchmarks.asking import Asking
from benchmarks.cells import Cell
from benchmarks.install import ROOT

pytestmark = pytest.mark.live

LOOP = """
import {{ DONE, messages, serve }} from '{serving}';

serve({{
  prepare(task, script) {{
    let prompt = messages(task).length;
    return async () => {{
      let asked = script.call(prompt);
      while (asked !== undefined) {{
        script.look(asked);
        asked = script.call((prompt += 2));
      }}
      return {{ text: DONE, kept: prompt }};
    }};
  }},
}});
"""


def test_a_peer_in_node_answers_what_it_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # CI has Node; on a developer's machine without it the rest of the tests are worth running.
    if shutil.which("node") is None and os.environ.get("CI") != "true":
        pytest.skip("there is no node")
    loop = tmp_path / "loop.mjs"
    serving = ROOT / "benchmarks" / "peers" / "serving.mjs"
    loop.write_text(LOOP.format(serving=serving.as_uri()), "utf-8")
    monkeypatch.setattr(asking, "command", lambda _: ("node", "--expose-gc", str(loop)))
    with Asking("ai 7 generateText", 5.0) as peer:
        answer = peer.answer(Cell(case="step", loop="ai 7 generateText", history=4, steps=3), runs=2)
    assert answer["check"] == {"calls": 3, "looks": 2, "prompt": 9, "text": "done"}
    assert len(answer["seconds"]) == len(answer["between"]) == 2
