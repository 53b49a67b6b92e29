from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import agentcore
from agentcore.agent.rules import AgentRule
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from rulebook import STATED
from spec.requirements import rules

TESTS = (
    "messages.test_content",
    "messages.test_media",
    "messages.test_prompt",
    "messages.test_rounds",
    "messages.test_chains",
    "machine.test_hooks",
    "machine.test_step",
    "machine.test_run",
    "machine.test_calls",
    "records.test_history",
    "records.test_saved",
    "records.test_saved_files",
    "records.test_saved_limits",
    "messages.test_identity",
    "machine.test_message_list",
    "machine.test_processors",
    "machine.test_preparing",
    "machine.test_run_processors",
    "agent.test_agent_processors",
    "messages.test_interrupts",
    "machine.test_pending",
    "agent.test_middleware",
    "agent.test_agent_read_only",
    "agent.test_agent_shared_state",
    "agent.test_agent_middleware",
    "agent.test_agent_model_state",
    "agent.test_agent_output",
    "agent.test_agent_stages",
    "agent.test_agent_interrupts",
    "agent.test_agent_pending",
    "agent.test_agent_retries",
    "agent.test_agent_answers",
    "agent.test_agent_cancelled",
    "agent.test_agent_cancelling",
    "agent.test_agent_streams",
    "agent.test_agent_threads",
    "agent.test_agent_validation",
    "agent.test_agent_failures",
    "agent.test_agent_limits",
    "agent.models.test_fallback",
    "records.test_prompt_cache",
    "frameworks.ai_sdk.test_immutable",
)
PACKAGE = Path(agentcore.__file__).parent
# Where the rules of the core are applied.
CODE = "\n".join(
    path.read_text("utf-8")
    for room in ("messages", "machine", "records", "agent")
    for path in sorted((PACKAGE / room).rglob("*.py"))
)


# Those of the core and of the agent on it.
RULES: tuple[Rule | AgentRule, ...] = (*Rule, *AgentRule)


@pytest.mark.parametrize("rule", [*RULES, *Difference])
def test_each_rule_and_difference_is_stated_by_a_test(rule: Rule | AgentRule | Difference) -> None:
    for module in TESTS:
        importlib.import_module(module)
    assert STATED.get(rule)


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_named_where_the_code_applies_it(rule: Rule | AgentRule) -> None:
    assert rule.value in CODE or str(rule) in CODE


def test_each_rule_of_a_package_is_named_where_its_code_applies_it() -> None:
    for kind in {type(rule) for rule in rules().values()} - {AgentRule, Difference, Rule}:
        home = Path(str(importlib.import_module(kind.__module__).__file__))
        # A framework applies its rules in its folder, a room's rules are for the rooms above as well.
        where = home.parent if home.is_relative_to(PACKAGE / "frameworks") else PACKAGE
        files = [file for file in where.rglob("*.py") if file.name != home.name]
        code = "\n".join(file.read_text("utf-8") for file in files)
        assert [str(rule) for rule in kind if rule.value not in code and str(rule) not in code] == []


def test_code_names_no_rule_or_difference_that_there_is_not() -> None:
    groups = {rule.value.split(".")[0] for rule in RULES}
    named = re.findall(rf"\b(?:{'|'.join(groups)})\.[a-z0-9]+(?:-[a-z0-9]+)+", CODE)
    assert {*named} <= {rule.value for rule in RULES}
    assert {*re.findall(r"Difference\.([A-Z_0-9]+)", CODE)} <= {difference.name for difference in Difference}


@pytest.mark.parametrize("rule", [*RULES, *Difference])
def test_a_rule_has_a_dotted_name_and_one_sentence(rule: Rule | AgentRule | Difference) -> None:
    assert re.fullmatch(r"[a-z]+\.[a-z0-9-]+", rule.value)
    assert rule.statement.endswith(".")


def test_a_rule_names_its_source_and_a_difference_its_reason() -> None:
    source = r"[CXSM]\d+|ai@6\.0\.134|strands-agents@1\.62\.0|core"
    for rule in RULES:
        assert re.fullmatch(rf"({source})(, ({source}))*", rule.source)
    for difference in Difference:
        assert difference.reason.endswith(".")
