"""Real benchmarks, if the shared data are available: all questions are read, as many as published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from triplecheck.evals import read_questions, write_questions
from triplecheck.evals.datasets.folder import find_cases
from triplecheck.evals.gold import resolve_gold
from triplecheck.kg import KnowledgeBase, build, normalize
from triplecheck.kg.readers import read_graph

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the benchmark data in {DATA.name}/ beside the checkout"),
]
COUNTS = {
    "entityquestions_popqa/popqa_dev": 500,
    "fb13_pathquestion/dev": 3_618,
    "fb15k237_freebaseqa/simpleq_valid": 115,
    "fb15k237_freebaseqa/webqsp_train": 880,
    "metaqa/dev": 31_682,
    "text_multihop": 700,
    "wc2014/dev": 3_480,
}


def test_all_questions_are_read() -> None:
    cases = {case.name: case for case in find_cases(DATA)}
    assert {name: len(read_questions(case.questions)) for name, case in cases.items()} == COUNTS
    webqsp = cases["fb15k237_freebaseqa/webqsp_train"]
    assert len(webqsp.sample()) == 478
    assert cases["text_multihop"].documents is not None
    popular = cases["entityquestions_popqa/popqa_dev"].sample()
    assert all(isinstance(question.popularity, int) for question in popular)


def test_real_questions_survive_a_round_trip(tmp_path: Path) -> None:
    for case in find_cases(DATA):
        questions = read_questions(case.questions)
        write_questions(questions, tmp_path / "out.jsonl.gz")
        again = read_questions(tmp_path / "out.jsonl.gz")
        assert again == questions
        assert [one.extra for one in again] == [one.extra for one in questions]


@pytest.fixture(scope="module")
def freebase(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = DATA / "fb15k237_freebaseqa"
    raw = read_graph([folder / "triples.tsv.gz"], folder / "entities.tsv.gz")
    return build(raw, tmp_path_factory.mktemp("fb") / "kb", encoder=None)


def test_answers_with_another_spelling_of_their_ids_are_the_same_nodes(freebase: KnowledgeBase) -> None:

    def names(text: str) -> list[int]:
        return [named.node for named in freebase.names.nodes(normalize(text))]

    questions = read_questions(DATA / "fb15k237_freebaseqa" / "questions_simpleq_valid.jsonl.gz")
    for question in questions:
        respelt = tuple(answer.replace("/m/", "m.") for answer in question.answers)
        assert respelt != question.answers
        there = resolve_gold(question, freebase.graph, names)
        here = resolve_gold(replace(question, answers=respelt), freebase.graph, names)
        assert [one.nodes for one in here.answers] == [one.nodes for one in there.answers]
