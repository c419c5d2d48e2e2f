"""Harder versions of question sets: each does to the question or the graph what it says, and notes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from triplecheck.evals import bundled_questions, read_questions
from triplecheck.evals.gold import linker_names, resolve_gold
from triplecheck.evals.questions import Question
from triplecheck.evals.rows import within_hops
from triplecheck.evals.variants.make import make_variant, variants
from triplecheck.kg import KnowledgeBase, UserError, normalize

REWRITINGS = ("typo1", "typo2", "alias", "partial", "word-order")


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return [q for q in read_questions(bundled_questions("dev")) if q.answerable][:40]


@pytest.mark.parametrize("name", REWRITINGS)
def test_a_rewriting_changes_the_name_of_a_topic_and_nothing_else(
    name: str, bundled: KnowledgeBase, questions: list[Question], tmp_path: Path
) -> None:
    changed, base = make_variant(name, questions, bundled, tmp_path)
    originals = {q.id: q for q in questions}
    assert base is bundled and changed
    for question in changed:
        original = originals[question.id]
        assert normalize(question.question) != normalize(original.question)
        assert (question.answers, question.topic) == (original.answers, original.topic)
        done = question.extra["variant"]
        assert done["name"] == name and done["from"] == original.question and len(done) == 3


def test_one_typing_error_is_one_and_two_are_two(
    bundled: KnowledgeBase, questions: list[Question], tmp_path: Path
) -> None:
    for name, count in (("typo1", 1), ("typo2", 2)):
        changed, _ = make_variant(name, questions, bundled, tmp_path)
        assert {len(question.extra["variant"]["edits"]) for question in changed} == {count}


def test_the_same_seed_gives_the_same_and_another_another(
    bundled: KnowledgeBase, questions: list[Question], tmp_path: Path
) -> None:
    first, _ = make_variant("typo1", questions, bundled, tmp_path, seed=1)
    # Each question for itself: fewer of them change nothing about the others.
    again, _ = make_variant("typo1", questions[:10], bundled, tmp_path, seed=1)
    other, _ = make_variant("typo1", questions, bundled, tmp_path, seed=2)
    assert [q.question for q in first][: len(again)] == [q.question for q in again]
    assert [q.question for q in first] != [q.question for q in other]


def test_deleted_edges_make_the_answer_unreachable(
    bundled: KnowledgeBase, questions: list[Question], tmp_path: Path
) -> None:
    originals = {q.id: q for q in questions}
    aliased = [replace(q, answer_aliases=tuple(("another name",) for _ in q.answers)) for q in questions]
    changed, base = make_variant("deleted", aliased, bundled, tmp_path)
    assert len(changed) > 10
    assert all(not resolve_gold(question, base.graph, linker_names(base.linker)).answers for question in changed[:5])
    names = linker_names(base.linker)
    for question in changed:
        gold = resolve_gold(originals[question.id], base.graph, names)
        topics = frozenset[int]().union(*gold.topics)
        answers = frozenset[int]().union(*(one.nodes for one in gold.answers))
        hops = question.hops if isinstance(question.hops, int) else 2
        assert not question.answerable
        assert not within_hops(base.graph, topics - answers, answers, hops), question.question
    removed = bundled.graph.num_triples - base.graph.num_triples
    assert 0 < removed <= sum(q.extra["variant"]["edges removed"] for q in changed)


def test_each_topic_gets_a_homonym(bundled: KnowledgeBase, questions: list[Question], tmp_path: Path) -> None:
    changed, base = make_variant("homonym", questions[:10], bundled, tmp_path)
    for question in changed:
        for added in question.extra["variant"]["added"]:
            homonym = base.graph.find(added["homonym"])
            assert homonym is not None
            assert base.graph.degree(homonym) > 0
            same = [named.node for named in base.names.nodes(normalize(base.graph.label(homonym)))]
            assert len(set(same)) > 1


def test_an_injected_instruction_is_among_the_facts(
    bundled: KnowledgeBase, questions: list[Question], tmp_path: Path
) -> None:
    changed, base = make_variant("injection", questions[:10], bundled, tmp_path)
    for question in changed:
        decoy = question.extra["variant"]["told to answer"]
        topic = base.graph.find(question.topic[0])
        assert topic is not None
        around = base.graph.expand([topic])
        assert sum(decoy in label for label in base.graph.labels(around.tails)) >= 2


def test_a_contradicting_document_names_the_topic_and_another_value(
    bundled: KnowledgeBase, questions: list[Question], tmp_path: Path
) -> None:
    changed, base = make_variant("contradiction", questions, bundled, tmp_path)
    assert base.documents is not None and len(base.documents) == len(changed) > 5
    for question in changed:
        text = question.extra["variant"]["document"]
        assert not any(text.endswith(f": {label}.") for label in question.answer_labels)
        assert any(hit.text == text for hit in base.documents.search(text, 3))


def test_foreign_questions_know_nothing_of_the_graph(tmp_path: Path, world_of_one: KnowledgeBase) -> None:
    changed, base = make_variant("foreign", [], world_of_one, tmp_path)
    assert base is world_of_one
    assert len(changed) > 50 and not any(question.answerable for question in changed)


def test_the_open_world_misspells_and_adds_what_cannot_be_answered(tmp_path: Path, world_of_one: KnowledgeBase) -> None:
    asked = [Question(str(n), "What does Glenn Gould play?", ("piano",), ("Glenn_Gould",)) for n in range(20)]
    changed, _ = make_variant("open-world", asked, world_of_one, tmp_path)
    assert [question.answerable for question in changed] == [True] * 20 + [False] * 2
    assert len({question.question for question in changed[:20]}) > 5


@pytest.fixture
def world_of_one(tmp_path: Path) -> KnowledgeBase:
    from triplecheck.kg import Triple, build
    from triplecheck.kg.export import raw_of

    return build(raw_of([Triple("Glenn_Gould", "plays", "piano")]), tmp_path / "one", encoder=None)


def test_a_changed_graph_is_built_once(bundled: KnowledgeBase, questions: list[Question], tmp_path: Path) -> None:
    _, first = make_variant("homonym", questions[:3], bundled, tmp_path)
    built = (first.path / "manifest.json").stat().st_mtime_ns
    _, again = make_variant("homonym", questions[:3], bundled, tmp_path)
    assert again.path == first.path and (again.path / "manifest.json").stat().st_mtime_ns == built


def test_an_unknown_variant_is_rejected_with_the_known_ones(bundled: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="typo1, typo2, alias"):
        make_variant("typos", [], bundled, tmp_path)
    assert set(REWRITINGS) < set(variants())


def test_where_nothing_can_be_done_it_is_said(bundled: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="can be changed"):
        make_variant("alias", [Question("1", "What is this?", ("x",))], bundled, tmp_path)
