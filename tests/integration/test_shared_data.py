"""Real graphs and benchmarks, if the shared data are available. Minimum scores are well below the measured ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from triplecheck.evals import read_questions, write_questions
from triplecheck.evals.datasets.folder import find_cases
from triplecheck.evals.gold import resolve_gold
from triplecheck.evals.runner import evaluate
from triplecheck.kg import KnowledgeBase, normalize
from triplecheck.lms import Roles
from triplecheck.programs import KERAG, Sources, replay

DATA = Path(__file__).parents[3] / "shared" / "data"
FREEBASE = "fb15k237_freebaseqa/webqsp_train"
COUNTS = {
    "entityquestions_popqa/popqa_dev": 500,
    "fb13_pathquestion/dev": 3_618,
    "fb15k237_freebaseqa/simpleq_valid": 115,
    FREEBASE: 880,
    "metaqa/dev": 31_682,
    "text_multihop": 700,
    "wc2014/dev": 3_480,
}

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the benchmark data in {DATA.name}/ beside the checkout"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], KnowledgeBase]:
    """The knowledge base of a case, built once."""
    cases = {case.name: case for case in find_cases(DATA)}
    return functools.cache(lambda name: cases[name].knowledge_base(tmp_path_factory.mktemp("shared") / "kb"))


@pytest.mark.parametrize(
    ("name", "hits_at_1", "link_recall"), [("wc2014/dev", 0.7, 0.95), ("metaqa/dev", 0.35, 0.95), (FREEBASE, 0.4, 0.85)]
)
def test_answers_questions_about_a_real_graph(
    name: str, hits_at_1: float, link_recall: float, built: Callable[[str], KnowledgeBase], tmp_path: Path
) -> None:
    case, base = next(case for case in find_cases(DATA) if case.name == name), built(name)
    program = KERAG(Sources.of(base))
    asked = case.sample(40, seed=1)
    scores = evaluate(program, asked, tmp_path / "run", roles=Roles(), knowledge_base=base).scores
    assert scores.coverage == 1.0
    assert scores.hits_at_1 is not None and scores.hits_at_1 >= hits_at_1
    assert scores.link_recall is not None and scores.link_recall >= link_recall
    found = program(question=asked[0].question)
    assert replay(base.graph, found.evidence) == []


def test_all_questions_are_read_and_survive_a_round_trip(tmp_path: Path) -> None:
    cases = {case.name: case for case in find_cases(DATA)}
    assert set(cases) == set(COUNTS)
    for name, case in cases.items():
        questions = read_questions(case.questions)
        assert len(questions) == COUNTS[name], name
        write_questions(questions, tmp_path / "out.jsonl.gz")
        again = read_questions(tmp_path / "out.jsonl.gz")
        assert again == questions
        assert [one.extra for one in again] == [one.extra for one in questions]
    assert len(cases[FREEBASE].sample()) == 478
    assert cases["text_multihop"].documents is not None
    assert all(isinstance(one.popularity, int) for one in cases["entityquestions_popqa/popqa_dev"].sample())


def test_answers_with_another_spelling_of_their_ids_are_the_same_nodes(built: Callable[[str], KnowledgeBase]) -> None:
    freebase = built(FREEBASE)

    def names(text: str) -> list[int]:
        return [named.node for named in freebase.names.nodes(normalize(text))]

    for question in read_questions(DATA / "fb15k237_freebaseqa" / "questions_simpleq_valid.jsonl.gz"):
        respelt = tuple(answer.replace("/m/", "m.") for answer in question.answers)
        assert respelt != question.answers
        there = resolve_gold(question, freebase.graph, names)
        here = resolve_gold(replace(question, answers=respelt), freebase.graph, names)
        assert [one.nodes for one in here.answers] == [one.nodes for one in there.answers]
