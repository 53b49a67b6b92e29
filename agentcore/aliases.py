"""Old names of modules: each imports the module that has taken its place.

A module's place says which room it belongs to, so modules move; whoever imported one by its old name still
can. The table is the one place that knows old names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final, NamedTuple, cast

__all__ = ["ALIASES", "install"]

_PACKAGE: Final = "agentcore"


class _Moved(NamedTuple):
    """Modules of one folder that have moved into another; `old:new` where the last name changed too."""

    origin: str
    to: str
    names: str


_PACKAGES: Final = {
    "compat": "frameworks.ai_sdk",
    "driver": "agent.call",
    "models": "agent.models",
    "tools": "agent.tools",
    "compat.ai_sdk": "frameworks.ai_sdk.emulation",
    "frameworks.ai_sdk.framework": "frameworks.ai_sdk",
    "frameworks.mastra.framework": "frameworks.mastra",
    "frameworks.strands.framework": "frameworks.strands",
    "oracle.isolated": "kit.isolation",
    "compat.mastra": "frameworks.mastra",
    "compat.strands": "frameworks.strands",
    "oracle.ai_sdk": "frameworks.ai_sdk",
    "oracle.mastra": "frameworks.mastra",
    "oracle.strands": "frameworks.strands",
}
_MODULES: Final = (
    _Moved("", "agent", "events middleware observe:telemetry output result:output"),
    _Moved("", "agent.call", "stop:config"),
    _Moved("", "cli", "demo:demonstration"),
    _Moved("", "kit", "schema:program"),
    _Moved(
        "",
        "machine",
        "calls:state effects hooks message_list:processors needs:state pending preparing:prepare "
        "processors prompting:step run shared_state:processors state step",
    ),
    _Moved(
        "",
        "messages",
        "brief chains codec:wire content forms:chains identity:chains interrupts media:converters "
        "message_repair message_trim paths:brief prompt readonly rounds:prompt tokens:message_trim "
        "usage:content values vectors wire",
    ),
    _Moved(
        "",
        "records",
        "account:provenance history origins outcome_json replay_cost:history run_json:saved saved",
    ),
    _Moved("", "requirements", "differences requirement:differences rules"),
    _Moved("agent", "agent", "result:output"),
    _Moved("agent", "agent.call", "stop:config"),
    _Moved(
        "agent.call",
        "agent.call",
        "call_setup:call cancelling:config models:needs processor_spans:spans tools:needs",
    ),
    _Moved(
        "agent.models",
        "agent.models",
        "_pydantic_ai_errors:pydantic_ai _pydantic_ai_prompt:_pydantic_ai_request "
        "_pydantic_ai_response:_pydantic_ai_request",
    ),
    _Moved(
        "cli",
        "cli",
        "ask:drivers check_input:check check_output:check examples:vectors explain:trace "
        "frameworks:drivers lint_driver:drivers notebooks:demo progress:terminal skeleton:drivers",
    ),
    _Moved("compat", "frameworks.ai_sdk", "agents"),
    _Moved(
        "compat",
        "heap",
        "cells copying depth:copying given:loading host_values:loading handouts:boundary_log heap js layered "
        "loading names:boundary_log pictures pollution reach:pollution rules snapshots:copying views",
    ),
    _Moved("compat", "kit", "documented:framework"),
    _Moved("compat.ai_sdk", "frameworks.ai_sdk", "profiles rules"),
    _Moved(
        "compat.ai_sdk",
        "frameworks.ai_sdk.emulation",
        "approving:history calls convert:results history loop models:record offered outcome:record "
        "prompted:history prompts record results settings tagged",
    ),
    _Moved("compat.mastra", "frameworks.mastra", "profiles rules"),
    _Moved(
        "compat.mastra",
        "frameworks.mastra.emulation",
        "answers:recording arguments clock:settings content:forms conversion errors forms intake keys:forms "
        "list_views:arguments loop merging message_list models:tools outcome:errors processors recording "
        "remembering:merging request_context:arguments settings step_content:arguments tools",
    ),
    _Moved("compat.strands", "frameworks.strands", "profiles rules"),
    _Moved(
        "compat.strands",
        "frameworks.strands.emulation",
        "agent batches chain:tools contexts:agent contract:agent copies:agent cycles:loop "
        "executors:batches loop models parts:agent pull_request said:models settings specs:agent tools "
        "turns",
    ),
    _Moved("driver", "agent", "partial:output"),
    _Moved(
        "driver",
        "agent.call",
        "begin:call blocking:call call cancelling:config checks errors fields:checks fits:call "
        "handover:stages loop models:needs parts:config processor_spans:spans processors:config "
        "rewritten:checks spans stages stream threads:needs tools:needs written:spans",
    ),
    _Moved(
        "frameworks.ai_sdk",
        "frameworks.ai_sdk",
        "causes:family comparison:family expected:writes features:program isolation:family "
        "shrinking:family size:programs",
    ),
    _Moved(
        "frameworks.ai_sdk.emulation",
        "frameworks.ai_sdk.emulation",
        "approving:history call_settings:settings convert:results models:record outcome:record "
        "prompted:history step:record",
    ),
    _Moved(
        "frameworks.mastra",
        "frameworks.mastra",
        "causes:family comparison:family features:program isolation:family shrinking:family "
        "wellformed:program",
    ),
    _Moved(
        "frameworks.mastra.emulation",
        "frameworks.mastra.emulation",
        "answers:recording clock:settings content:forms keys:forms list_views:arguments models:tools "
        "outcome:errors printing:errors remembering:merging request_context:arguments step_content:arguments",
    ),
    _Moved(
        "frameworks.strands",
        "frameworks.strands",
        "acting:ops causes:family comparison:family features:program handlers:programs isolation:family "
        "shrinking:family structured:program",
    ),
    _Moved(
        "frameworks.strands.emulation",
        "frameworks.strands.emulation",
        "chain:tools contexts:agent contract:agent copies:agent cycles:loop executors:batches parts:agent "
        "said:models specs:agent",
    ),
    _Moved("guard", "guard", "classes:report comparing:report places:snapshot showing:report values:report"),
    _Moved("agent.tools", "agent.tools", "define:tool"),
    _Moved(
        "heap",
        "heap",
        "copy_depth:copying host_values:loading names:boundary_log reach:pollution snapshots:copying",
    ),
    _Moved("heap", "kit", "profile_fields:framework"),
    _Moved(
        "kit",
        "kit",
        "features:choices flips:framework outcomes:program places:program profile_fields:framework "
        "recording:ops registry:framework schemas:program shrink_edits:shrink step_results:emulate",
    ),
    _Moved("kit.isolation", "kit", "judge:isolation rules shape:isolation timing:isolation"),
    _Moved("machine", "machine", "calls:state message_list:processors"),
    _Moved("messages", "kit", "schema:program"),
    _Moved("records", "records", "run_json:saved"),
    _Moved(
        "messages",
        "messages",
        "codec:wire media:converters paths:brief rounds:prompt tokens:message_trim usage:content",
    ),
    _Moved(
        "models",
        "agent.models",
        "_pydantic_ai_errors:pydantic_ai _pydantic_ai_prompt:_pydantic_ai_request _pydantic_ai_request "
        "_pydantic_ai_response:_pydantic_ai_request base pydantic_ai scripted",
    ),
    _Moved(
        "oracle",
        "kit",
        "choices compare families outcomes:program places:program program schemas:program shrink "
        "visible:safe_text",
    ),
    _Moved(
        "oracle",
        "oracle.campaign",
        "check chunks:findings collecting:executors crews:executors database:check distributed:executors "
        "findings interruption:stop_rules scope:verdicts selection:findings strategies tally:stop_rules "
        "verdicts work:worker",
    ),
    _Moved("oracle", "oracle.comparison", "causes:changes changes guide sides:comparands witnesses:changes"),
    _Moved(
        "oracle",
        "oracle.drivers",
        "driver lint lint_session:lint process:driver protocol rules serving:protocol supervisor "
        "targets:packages",
    ),
    _Moved("oracle", "oracle.reports", "explain"),
    _Moved("oracle", "oracle.spec", "examples scripts:examples vectors"),
    _Moved(
        "oracle.ai_sdk",
        "frameworks.ai_sdk",
        "causes:family comparison:family expected:writes family features:program frozen immutable "
        "isolation:family ops program programs reference shrinking:family size:programs writes",
    ),
    _Moved(
        "oracle.campaign",
        "oracle.campaign",
        "batches:findings choosing:check database:check distributed:executors gc_policy:executors "
        "interruption:stop_rules isolated_sides:worker scope:verdicts selection:findings",
    ),
    _Moved(
        "oracle.comparison",
        "oracle.comparison",
        "attribution:changes minimal_programs:changes releases:guide",
    ),
    _Moved("oracle.drivers", "oracle.drivers", "driver_main:protocol lint_session:lint process:driver"),
    _Moved("oracle.isolated", "kit", "judge:isolation rules shape:isolation timing:isolation"),
    _Moved("oracle.isolated", "oracle.campaign", "choosing:check sides:worker"),
    _Moved(
        "oracle.mastra",
        "frameworks.mastra",
        "causes:family comparison:family family features:program isolation:family making ops program "
        "programs reference results:turns shrinking:family turns wellformed:program",
    ),
    _Moved("oracle.reports", "oracle.reports", "beside:html evidence:document pictures:html plain:document"),
    _Moved("oracle.spec", "oracle.spec", "scripts:examples"),
    _Moved(
        "oracle.strands",
        "frameworks.strands",
        "acting:ops causes:family comparison:family family features:program handlers:programs holders:shapes "
        "isolation:family ops program programs reference shapes shrinking:family structured:program "
        "writes",
    ),
    _Moved("testing", "testing", "conversations:hooks faults:prompts mirrors:runs words:prompts"),
    _Moved("tools", "agent.tools", "contract define:tool errors:contract results:tool tool"),
)


def _pairs() -> Iterator[tuple[str, str]]:
    for old, new in _PACKAGES.items():
        yield old, new
    for moved in _MODULES:
        for name in moved.names.split():
            old, _, new = name.partition(":")
            yield f"{moved.origin}.{old}".lstrip("."), f"{moved.to}.{new or old}"


ALIASES: Final = {f"{_PACKAGE}.{old}": f"{_PACKAGE}.{new}" for old, new in _pairs()}


class _AliasLoader:
    """Gives the module of the new name, so that both names are one module."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:  # noqa: ARG002 - the interface
        module = import_module(self._target)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the spec of the old name there.
        module.__spec__ = self._spec
        # What a package has imported itself it has under its old name too: a module imported again takes
        # the place of the package's attribute of that name, such as the function `tool`.
        for old, new in ALIASES.items():
            if new.startswith(f"{self._target}.") and new in sys.modules:
                sys.modules.setdefault(old, sys.modules[new])


class _AliasFinder:
    """Finds modules by the names that they had."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        new = ALIASES.get(fullname)
        return None if new is None else ModuleSpec(fullname, cast("Any", _AliasLoader(new)))


def install() -> None:
    """Let modules be imported by their old names; a second call changes nothing."""
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        # Before the others: a folder that took the place of another may have a module of that last name.
        sys.meta_path.insert(0, _AliasFinder())
