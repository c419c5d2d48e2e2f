"""Training of the ranker of relation paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from triplecheck.kg.encode import load_encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import load_ranker
from triplecheck.optimize.distil.path_ranker import PathQuestion, Training, train

WORDINGS = [["zork"], ["plim", "blim"], ["quax"]]
QUESTIONS = [
    *(PathQuestion(f"who painted [X] {n}", "toy", ((0, False),)) for n in range(20)),
    *(PathQuestion(f"what did [X] paint {n}", "toy", ((0, True),)) for n in range(20)),
    *(PathQuestion(f"where was the painter of [X] born {n}", "toy", ((0, False), (2, False))) for n in range(20)),
]


def trained(out: Path) -> dict[str, Any]:
    train(QUESTIONS, {"toy": WORDINGS}, load_encoder(), out, {"sources": ["toy"]}, Training(epochs=40, batch=20))
    return dict(load_file(out))


def test_a_trained_ranker_knows_relation_direction_and_length(tmp_path: Path) -> None:
    trained(tmp_path / "r.safetensors")
    ranker, encode = load_ranker(tmp_path / "r.safetensors"), load_encoder().encode
    relations = ranker.relations(encode([wordings[0] for wordings in WORDINGS]))
    paths = [((0, False),), ((0, True),), ((2, False),), ((0, False), (2, False)), ((2, False), (0, False))]
    asked = ["who painted [X]", "what did [X] paint", "where was the painter of [X] born"]
    found = []
    for question in asked:
        hops = ranker.hops(encode([question])[0], relations)
        found.append(max(paths, key=hops.path))
    assert found == [paths[0], paths[1], paths[3]]


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    one, other = trained(tmp_path / "a.safetensors"), trained(tmp_path / "b.safetensors")
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_a_vocabulary_of_one_relation_can_be_learned(tmp_path: Path) -> None:
    questions = [PathQuestion(f"who made [X] {n}", "one", ((0, False),)) for n in range(50)]
    train(questions, {"one": [["作者"]]}, load_encoder(), tmp_path / "r.safetensors", {}, Training(epochs=1))
    assert load_ranker(tmp_path / "r.safetensors").encoder == load_encoder().fingerprint


def test_too_few_questions_and_paths_that_are_too_long_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="at least 50 questions with paths; there are 3"):
        train(QUESTIONS[:3], {"toy": WORDINGS}, load_encoder(), tmp_path / "r", {})
    long = PathQuestion("x", "toy", ((0, False),) * 4)
    with pytest.raises(UserError, match="1 to 3 hops"):
        train([*QUESTIONS, long], {"toy": WORDINGS}, load_encoder(), tmp_path / "r", {})
    assert not list(tmp_path.iterdir())
