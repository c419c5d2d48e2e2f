"""KERAG on real graphs, if the shared data are available. Minimum scores are well below the measured ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from triplecheck.evals.datasets.folder import find_cases
from triplecheck.evals.runner import evaluate
from triplecheck.lms import Roles
from triplecheck.programs import KERAG, Sources, replay

DATA = Path(__file__).parents[3] / "shared" / "data"
QUESTIONS = 40

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the benchmark data in {DATA.name}/ beside the checkout"),
]


@pytest.mark.parametrize(
    ("name", "hits_at_1", "link_recall"),
    [("wc2014/dev", 0.7, 0.95), ("metaqa/dev", 0.35, 0.95), ("fb15k237_freebaseqa/webqsp_train", 0.4, 0.85)],
)
def test_answers_questions_about_a_real_graph(name: str, hits_at_1: float, link_recall: float, tmp_path: Path) -> None:
    case = next(case for case in find_cases(DATA) if case.name == name)
    base = case.knowledge_base(tmp_path / "kb")
    program = KERAG(Sources.of(base))
    asked = case.sample(QUESTIONS, seed=1)
    scores = evaluate(program, asked, tmp_path / "run", roles=Roles(), knowledge_base=base).scores
    assert scores.coverage == 1.0
    assert scores.hits_at_1 is not None and scores.hits_at_1 >= hits_at_1
    assert scores.link_recall is not None and scores.link_recall >= link_recall
    found = program(question=asked[0].question)
    assert replay(base.graph, found.evidence) == []
