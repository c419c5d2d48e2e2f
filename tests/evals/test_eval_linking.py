"""Measuring how well names are linked."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplecheck.evals.linking import RANKINGS, ambiguous, first_by_ranking, misspelt, recall
from triplecheck.evals.questions import Question
from triplecheck.evals.variants.rewriting import TopicMention, topic_mentions
from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import read_graph

TRIPLES = """\
Bernhard Heiden\tstudent of\tPaul Hindemith
Paul Hindemith\tborn in\tHanau
michael jordan 1\tplays sport\tbasketball
michael jordan 2\tfield of research\tstatistics
"""
ENTITIES = "id\tlabel\nmichael jordan 1\tMichael Jordan\nmichael jordan 2\tMichael Jordan\n"
QUESTIONS = [
    Question("1", "Who taught Bernhard Heiden?", ("Paul Hindemith",), ("Bernhard Heiden",)),
    Question("2", "What is the field of research of Michael Jordan?", ("statistics",), ("michael jordan 2",)),
    Question("3", "Where was he born?", ("Hanau",), ("Paul Hindemith",)),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder: Path = tmp_path_factory.mktemp("linking")
    (folder / "triples.tsv").write_text(TRIPLES, "utf-8")
    (folder / "entities.tsv").write_text(ENTITIES, "utf-8")
    return build(read_graph([folder / "triples.tsv"], folder / "entities.tsv"), folder / "kb")


@pytest.fixture
def asked(base: KnowledgeBase) -> list[TopicMention]:
    return topic_mentions(QUESTIONS, base.graph, base.linker)


def test_topics_are_found_in_the_question(asked: list[TopicMention]) -> None:
    assert [one.mention for one in asked] == ["Bernhard Heiden", "Michael Jordan"]


def test_only_the_mention_is_misspelt_and_deterministically(asked: list[TopicMention]) -> None:
    one = misspelt(asked[0], 1, seed=3)
    assert one == misspelt(asked[0], 1, seed=3)
    assert one.mention != "Bernhard Heiden"
    assert one.question == f"Who taught {one.mention}?"
    assert misspelt(asked[0], 0, seed=3) == asked[0]


def test_recall_of_verbatim_names_is_1(asked: list[TopicMention], base: KnowledgeBase) -> None:
    found = recall(asked, base.linker)
    assert (found.n, found.alone[3], found.within[3]) == (2, 1.0, 1.0)
    assert 0 < found.wall[0] <= found.wall[1]


def test_recall_of_a_missing_name_is_0(asked: list[TopicMention], base: KnowledgeBase) -> None:
    nowhere = [one.rewritten("Wolfgang Mozart") for one in asked]
    found = recall(nowhere, base.linker)
    assert (set(found.alone.values()), set(found.within.values())) == ({0.0}, {0.0})


def test_relations_distinguish_homonyms(asked: list[TopicMention], base: KnowledgeBase) -> None:
    homonyms = ambiguous(asked, base.graph, base.linker)
    assert [one.mention for one in homonyms] == ["Michael Jordan"]
    first = first_by_ranking(homonyms, base.linker)
    assert list(first) == list(RANKINGS)
    assert (first["name"], first["relations"], first["name, popularity, relations"]) == (0.5, 1.0, 1.0)
