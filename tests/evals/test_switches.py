"""Every option that a program was made with is written down with its results."""

from __future__ import annotations

import json

import pytest
from eval_parts import sources

from triplecheck.evals.configuration import switches
from triplecheck.kg import KnowledgeBase
from triplecheck.programs import program_names, resolve_program


@pytest.mark.parametrize("name", program_names())
def test_all_options_of_a_program_are_described_as_plain_data(knowledge_base: KnowledgeBase, name: str) -> None:
    told = switches(resolve_program(name)(sources(knowledge_base)))
    assert {"grounded_only", "abstain_below"} <= told.keys()
    assert "programs." not in json.dumps(told), "an option's name is taken by something else"


@pytest.mark.parametrize(
    ("program", "option", "value"),
    [("know3rag", "paper_calls", True), ("ragcot", "corpus", "dense"), ("4stepfocus", "rerank", "each")],
)
def test_the_switches_of_a_program_include_options_of_its_parts(
    knowledge_base: KnowledgeBase, program: str, option: str, value: object
) -> None:
    made = resolve_program(program)(sources(knowledge_base), **{option: value})
    assert switches(made)[option] == switches(made.deepcopy())[option] == value
