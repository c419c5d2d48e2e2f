from __future__ import annotations

import copy

import dspy
import pytest
from openai_server import OpenAIServer

from triplecheck.kg.errors import UserError
from triplecheck.lms import RolePredict, Roles, session


def test_a_role_without_a_model_of_its_own_has_the_default() -> None:
    roles = Roles(default="extractive", by_role={"answer": "openai/gpt-4o-mini"})
    assert roles.model("answer") == "openai/gpt-4o-mini"
    assert roles.model("prune") == "extractive"
    assert roles.model("knowledge.3") == "extractive"
    assert roles.models() == ["extractive", "openai/gpt-4o-mini"]


@pytest.mark.parametrize("name", ["anwser", "knowledge", "knowledge.0", "knowledge.x", "", "default"])
def test_an_unknown_role_is_refused_and_the_roles_are_listed(name: str) -> None:
    with pytest.raises(UserError, match=r"unknown role.*answer, extract, link"):
        Roles().model(name)
    with pytest.raises(UserError):
        Roles(by_role={name: " "})


def test_roles_are_read_from_the_command_line() -> None:
    roles = Roles.parse(["openai/gpt-4o-mini", "answer = local/smollm2", "knowledge.2=openai/a=b"])
    assert roles == Roles(
        default="openai/gpt-4o-mini", by_role={"answer": "local/smollm2", "knowledge.2": "openai/a=b"}
    )
    assert Roles.parse([]) == Roles(default="extractive")
    assert Roles.parse(["default=x/y"]).default == "x/y"


@pytest.mark.parametrize("items", [["answer=a/b", "answer=c/d"], ["answer="], ["wrong=a/b"], ["a/b", "c/d"], [""]])
def test_bad_items_on_the_command_line_are_refused(items: list[str]) -> None:
    with pytest.raises(UserError):
        Roles.parse(items)


def test_roles_are_values() -> None:
    given = {"answer": "a/b"}
    roles = Roles(by_role=given)
    given["answer"] = "c/d"
    assert roles.model("answer") == "a/b"
    assert copy.deepcopy(roles) == roles
    assert hash(roles) == hash(copy.deepcopy(roles))
    assert roles.to_json() == {"default": "extractive", "answer": "a/b"}


def test_each_role_has_its_own_address_key_and_settings(server: OpenAIServer) -> None:
    with OpenAIServer() as other:
        wordy = dspy.LM("openai/a", api_base=server.base, api_key="one", temperature=0.7, max_tokens=50, cache=False)
        brief = dspy.LM("openai/b", api_base=other.base, api_key="two", temperature=0.1, max_tokens=20, cache=False)
        with session(Roles(answer=wordy, prune=brief)) as ledger:
            for role in ("answer", "prune"):
                assert RolePredict("question -> answer", role=role)(question="Where?").answer == "Paris"
    names = ("model", "temperature", "max_completion_tokens")
    sent = [tuple(request[name] for name in names) for request in server.requests]
    assert (sent, server.authorizations) == ([("a", 0.7, 50)], ["Bearer one"])
    sent = [tuple(request[name] for name in names) for request in other.requests]
    assert (sent, other.authorizations) == ([("b", 0.1, 20)], ["Bearer two"])
    assert set(ledger.usage().by_model) == {"openai/a", "openai/b"}
