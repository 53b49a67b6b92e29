"""Runs the tests of the JavaScript package with Node, on the real packages that npm installs from pins."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import platformdirs
import pytest
from filelock import FileLock

import agentcore

pytestmark = pytest.mark.live

PACKAGE: Final = Path(agentcore.__file__).parent / "live" / "js"
SCHEMAS: Final = Path(agentcore.__file__).parent / "live" / "schemas"
TESTS: Final = Path(__file__).parent / "js"
PROJECTS: Final = (
    *("ai-5", "ai-6", "ai-7", "types"),
    *("mastra", "langchain", "strands", "openai-agents"),
)
# Everything takes long, and a sample on a machine with other work may, too.
LIMIT: Final = None if "AGENTCORE_WHOLE" in os.environ else 1800
SUITES: Final = sorted(path.name for path in TESTS.glob("*.test.js"))


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        # In CI everything is there; a machine without Node cannot run JavaScript.
        if "CI" in os.environ:
            pytest.fail(f"{name} is not on the PATH")
        pytest.skip(f"{name} is not on the PATH")
    return path


def _install(npm: str, source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules"))
    argv = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(argv, cwd=target, check=True, capture_output=True, timeout=300)


@pytest.fixture(scope="session")
def root() -> Path:
    """Installs the package and the projects from their pins, once for each change of the pins."""
    npm = _program("npm")
    locks = [
        PACKAGE / "package-lock.json",
        *(TESTS / "packages" / name / "package-lock.json" for name in PROJECTS),
    ]
    digest = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()[:16]
    named = os.environ.get("AGENTCORE_CACHE")
    cache = Path(named).absolute() if named else platformdirs.user_cache_path("agentcore") / "live"
    folder = cache / f"js-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        if not (folder / "complete").exists():
            for name in ("check-hook", *PROJECTS):
                shutil.rmtree(folder / name, ignore_errors=True)
            _install(npm, PACKAGE, folder / "check-hook")
            for name in PROJECTS:
                _install(npm, TESTS / "packages" / name, folder / name)
            (folder / "complete").touch()
        # Not taken away under the tests of another process that runs them.
        copied = folder / "sources"
        if not copied.exists() or copied.read_text("utf-8") != _sources():
            for part in ("src", "adapters", "bin"):
                shutil.rmtree(folder / "check-hook" / part)
            without = shutil.ignore_patterns("node_modules")
            shutil.copytree(PACKAGE, folder / "check-hook", dirs_exist_ok=True, ignore=without)
            copied.write_text(_sources(), encoding="utf-8")
    return folder


def _sources() -> str:
    """A digest of the package's files."""
    files = sorted(path for path in PACKAGE.rglob("*") if path.is_file() and "node_modules" not in path.parts)
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(PACKAGE)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


@pytest.mark.parametrize("suite", SUITES)
def test_javascript(root: Path, suite: str, pytestconfig: pytest.Config) -> None:
    argv = [_program("node"), "--test", str(TESTS / suite)]
    seed = str(pytestconfig.getoption("hypothesis_seed", None))
    environment = {**os.environ, "AGENTCORE_LIVE_JS": str(root), "AGENTCORE_SAMPLE_SEED": seed}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-4000:]


def _schema() -> jsonschema_rs.Validator:
    findings, conversation = (
        json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        for name in ("findings", "conversation")
    )
    registry = jsonschema_rs.Registry([("conversation.schema.json", conversation)])
    return jsonschema_rs.validator_for(findings, registry=registry)


HOOKS: Final = {
    "clean": "export const hook = ({ messages }) => ({ messages });",
    "write": "export const hook = ({ messages }) => { messages[0].note = 'x'; };",
    "raises": "export const hook = () => { throw new Error('no'); };",
    "exits": "export const hook = () => process.exit(0);",
    "outside": "import fs from 'node:fs'; export const hook = () => fs.writeFileSync('x.txt', 'x');",
    "missing": "export const another = 1;",
}


@pytest.mark.parametrize(("name", "code"), HOOKS.items())
def test_what_the_command_prints_is_as_the_schema_says(
    root: Path, tmp_path: Path, name: str, code: str
) -> None:
    (tmp_path / "hook.mjs").write_text(code, encoding="utf-8")
    report, exit_code = _check(root, tmp_path, "hook.mjs#hook")
    _schema().validate(report)
    assert (report["verdict"], exit_code) == {
        "clean": ("clean", 0),
        "write": ("fault", 1),
        "raises": ("fault", 1),
        "exits": ("fault", 1),
        "outside": (None, 3),
        "missing": (None, 3),
    }[name]
    assert report["exit"] == exit_code
    assert [path.name for path in tmp_path.iterdir()] == ["hook.mjs"]


def test_python_prints_the_same_report(root: Path, tmp_path: Path) -> None:
    code = """export const hook = ({ messages, step }) => {
  messages[0].note = 'x';
  if (step > 1) throw new Error('no');
  return { messages: [...messages, { role: 'user', content: 'be brief' }] };
};"""
    (tmp_path / "hook.mjs").write_text(code, encoding="utf-8")
    # In a loop that takes no time, so that a busy machine ends no search for a smaller conversation.
    toy = ("--in", f"{root / 'check-hook/adapters/skeleton.js'}:adapter", "--at", "beforeModel")
    options = (*toy, "--examples", "12", "--json")
    without, exit_code = _check(root, tmp_path, "hook.mjs#hook", options)
    argv = [sys.executable, "-m", "agentcore", "check-hook", "hook.mjs#hook", *options]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert (json.loads(done.stdout), done.returncode) == (without, exit_code), done.stderr
    assert {each["kind"] for each in without["findings"]} == {"write", "raises"}
    assert [path.name for path in tmp_path.iterdir()] == ["hook.mjs"]


def test_python_writes_the_page_of_a_hook_in_typescript(root: Path, tmp_path: Path) -> None:
    code = """import type { PrepareStepFunction } from 'ai';
export const hook: PrepareStepFunction<any> = ({ messages }) => {
  if (messages.length > 1 && typeof messages[0].content === 'string') messages[0].content += '!';
};"""
    (tmp_path / "hook.ts").write_text(code, encoding="utf-8")
    argv = [
        sys.executable,
        "-m",
        "agentcore",
        "check-hook",
        "hook.ts#hook",
        *_options(root, "ai-7"),
        "--html",
    ]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    report = json.loads(done.stdout)
    _schema().validate(report)
    runs = report["findings"][0]["runs"]
    assert "written" in [each["kind"] for each in runs["live"]["moments"]]
    page = (tmp_path / "agentcore-hook.html").read_text("utf-8")
    (data,) = re.findall(r'id="document">(.*?)</script>', page)
    live, value = json.loads(data)["scenes"][0]["runs"]
    (written,) = (one for one in live["moments"] if one["kind"] == "write")
    assert written["says"].startswith("hook writes in place: messages[0].content, from ")
    assert "it reaches " in written["lines"][-1]
    assert [len(each["prompts"]) for each in (live, value)] == [len(live["prompts"])] * 2


def test_an_adapter_in_javascript_is_judged_from_python(root: Path, tmp_path: Path) -> None:
    code = "export const hook = ({ messages }) => { messages.push({ role: 'user', content: [] }); };"
    (tmp_path / "hook.mjs").write_text(code, encoding="utf-8")
    loop = f"{root / 'check-hook/adapters/skeleton.js'}:adapter"
    argv = [sys.executable, "-m", "agentcore", "check-hook", "hook.mjs#hook", "--in", loop]
    argv += ["--at", "beforeModel", "--examples", "8", "--json"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert [each["kind"] for each in json.loads(done.stdout)["findings"]] == ["write"]


def _options(root: Path, project: str = "ai-6") -> tuple[str, ...]:
    where = ("--in", "ai", "--at", "prepareStep", "--project", str(root / project))
    return (*where, "--examples", "6", "--json")


def _check(root: Path, folder: Path, hook: str, options: tuple[str, ...] | None = None) -> tuple[Any, int]:
    argv = [_program("node"), str(root / "check-hook/bin/check-hook.js"), "check-hook", hook]
    argv += options or _options(root)
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == ""
    return json.loads(done.stdout), done.returncode
