"""Assists: one table, one option, one entry in the trace for each change."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from documents import DOCS
from program_parts import ask, conclude_with, fields, keep, kerag, play, steps, topics

from triplecheck import programs
from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.programs import KERAG, Program, Sources, program_names, resolve_program
from triplecheck.programs.assists import ASSISTS, Assists
from triplecheck.programs.steps import Assisted, Trace, in_words

FOLDER = Path(programs.__file__).parent
ASSISTS_MODULE = "triplecheck.programs.assists"
NAMES = {assist.name for assist in ASSISTS}
WITH_REFERENCES = {"ragdirect", "ragcot", "recite", "skr", "knowledgecard", "chainofknowledge", "blendfilter"}


def asking() -> dict[str, set[str]]:
    """The functions whose first parameter is the program's assists, with the names that each asks for."""
    found = {}
    for path in (FOLDER / "assists").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "assists":
                said = {part.value for part in ast.walk(node) if isinstance(part, ast.Constant)}
                found[f"{ASSISTS_MODULE}.{path.stem}.{node.name}"] = said & NAMES
    return found


def test_each_assist_is_asked_for_by_its_name() -> None:
    assert set().union(*asking().values()) == NAMES


def test_the_documentation_has_the_table() -> None:
    every = set(program_names())
    of = {a.name: "all" if set(a.programs) == every else ", ".join(a.programs) for a in ASSISTS}
    shown = [f"| `{a.name}` | {a.place} | {a.does} | {of[a.name]} |" for a in ASSISTS]
    lines = (DOCS / "assists.md").read_text("utf-8").splitlines()
    rows = [line.removesuffix(" |").rpartition(" | ") for line in lines if line.startswith("| `")]
    assert [f"{row} |" for row, _, _ in rows] == shown
    worths = re.compile(
        r"not measured|\d+ won, \d+ lost( \(below\))?|(\d+ right of \d+|F1 \.\d+) with it, \.?\d+ without \(below\)"
    )
    assert all(worths.fullmatch(worth) for _, _, worth in rows)


@pytest.mark.parametrize("name", [name for name in program_names() if name not in WITH_REFERENCES])
def test_the_table_names_the_programs_that_have_an_assist(name: str) -> None:
    """A program has the assists whose functions it, or a module that it imports, calls.

    Baselines with references import Know3-RAG's filter and do not use its check of triples.
    """
    called: set[str] = set()
    ahead, seen = [resolve_program(name).__module__], set[str]()
    while ahead:
        module = ahead.pop()
        if module in seen:
            continue
        seen.add(module)
        for node in ast.walk(ast.parse(Path(str(importlib.import_module(module).__file__)).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("triplecheck.programs."):
                called |= {f"{node.module}.{alias.name}" for alias in node.names}
                ahead.append(str(node.module))
    asked = {one for function, names in asking().items() if function in called for one in names}
    assert asked == {assist.name for assist in ASSISTS if name in assist.programs}


def test_no_program_asks_for_the_name_of_a_model() -> None:
    for path in FOLDER.rglob("*.py"):
        text = path.read_text("utf-8")
        assert "is_baseline" not in text and "is_extractive" not in text, path


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("all", NAMES),
        ("none", set()),
        ((), set()),
        ("doubts", {"doubts"}),
        ("doubts, plans", {"doubts", "plans"}),
        (("doubts", "plans"), {"doubts", "plans"}),
        ("-doubts", NAMES - {"doubts"}),
        ("-doubts -plans", NAMES - {"doubts", "plans"}),
        ("all -doubts", NAMES - {"doubts"}),
    ],
)
def test_the_option_names_them(option: Any, names: set[str]) -> None:
    assert Assists(option).names == names


@pytest.mark.parametrize("name", program_names())
def test_an_unknown_assist_is_rejected_with_the_names_there_are(sources: Sources, name: str) -> None:
    program: type[Program] = resolve_program(name)
    with pytest.raises(UserError, match=r"no assist 'doubt'; there are all, none, and asked_part, all_topics, .*plans"):
        program(sources, assist="doubt")
    assert program(sources, assist="-doubts").assists.names == NAMES - {"doubts"}


def test_a_change_is_in_the_trace_and_no_change_is_not() -> None:
    trace = Trace()
    Assists.note(trace, "doubts", "AnswerFromFacts", ["a", "b"], ["a", "b"])
    assert trace.steps == []
    Assists.note(trace, "doubts", "AnswerFromFacts", ["a", "b"], ["b", "c"])
    (step,) = trace.steps
    assert step.to_json() == {
        "kind": "assisted",
        "name": "doubts",
        "step": "AnswerFromFacts",
        "before": ["a", "b"],
        "after": ["b", "c"],
    }
    assert in_words(step) == "doubts (AnswerFromFacts): + c; - a"


def test_without_assists_the_model_alone_decides(bundled: KnowledgeBase) -> None:
    """A model that names the wrong path gets no other one."""
    question = "Who directed Alien?"
    replies = [topics("Alien"), keep("genre"), fields(keep="none"), conclude_with()]
    alone, _ = play(KERAG(bundled, assist="none"), question, *replies)
    assert steps(alone, Assisted) == [] and alone.abstained
    assert ask(KERAG(bundled, assist="none"), question).answer == "Ridley Scott"


def test_an_operation_over_the_cited_facts_is_computed_without_assists_too(bundled: KnowledgeBase) -> None:
    count = conclude_with(cite=["directed"], operation="count")
    replies = [topics("Ridley Scott"), keep("directed"), fields(keep="none"), count]
    found, _ = play(KERAG(bundled, assist="none"), "How many films did Ridley Scott direct?", *replies)
    assert found.answer.isdigit() and found.grounded


def test_a_doubt_that_changes_a_reply_is_in_the_trace(sources: Sources) -> None:
    said = [conclude_with(name, cite=["student of"]) for name in ("Bernhard Heiden", "Paul Hindemith")]
    replies = [topics("Bernhard Heiden"), keep("student of"), *said]
    found, _ = play(kerag(sources, hops=1), "Who taught Bernhard Heiden?", *replies)
    (step,) = (one for one in steps(found, Assisted) if one.name == "doubts")
    assert step.step == "AnswerFromFacts"
    assert "answers: ['Bernhard Heiden']" in step.before
    assert any("Paul Hindemith" in line for line in step.after)
    alone, _ = play(kerag(sources, hops=1, assist="none"), "Who taught Bernhard Heiden?", *replies[:3])
    assert steps(alone, Assisted) == []


# --- `asked_part`: talk beside a question is left out
QUESTION = "Who taught Bernhard Heiden?"


def test_talk_withholds_no_answer(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled, verdict="likely")(question=f"My aunt adores quizzes. {QUESTION}")
    assert found.answer == "Paul Hindemith" and found.verdict == "proved"
    assert [(step.name, step.after) for step in steps(found, Assisted)][:1] == [("asked_part", [QUESTION])]


@pytest.mark.parametrize(
    "talk",
    ["I only listen to operas.", "My aunt has been to mongolia.", "I want to know about the capital."],
    ids=["a class", "a name", "a relation"],
)
def test_talk_that_names_something_of_the_graph_stays(bundled: KnowledgeBase, talk: str) -> None:
    found = KERAG(bundled)(question=f"{talk} {QUESTION}")
    assert "asked_part" not in [step.name for step in steps(found, Assisted)]


def test_without_the_assist_the_question_is_whole(bundled: KnowledgeBase) -> None:
    found = KERAG(bundled, assist="none")(question=f"My aunt adores quizzes. {QUESTION}")
    assert steps(found, Assisted) == []
