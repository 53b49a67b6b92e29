from __future__ import annotations

import runpy
import sys
from importlib.metadata import version
from importlib.resources import files

import pytest


def test_the_package_can_be_run_as_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["agentcore", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(files("agentcore") / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"agentcore, version {version('agentcore-reference')}\n"
