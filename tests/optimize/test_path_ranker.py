"""Training of the ranker of relation paths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from triplecheck.kg._arrays import FloatArray
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, PathRanker, load_ranker, save_ranker
from triplecheck.optimize.distil.path_ranker import HopNumbers, PathQuestion, Training, train

WORDINGS = [["zork"], ["plim", "blim"], ["quax"]]
QUESTIONS = [
    *(PathQuestion(f"who painted [X] {n}", "toy", (((0, False),),)) for n in range(20)),
    *(PathQuestion(f"what did [X] paint {n}", "toy", (((0, True),),)) for n in range(20)),
    *(PathQuestion(f"where was the painter of [X] born {n}", "toy", (((0, False), (2, False)),)) for n in range(20)),
]


TOY = {"toy": WORDINGS}


def trained(out: Path) -> dict[str, Any]:
    weights = train(QUESTIONS, TOY, load_encoder(), Training(epochs=40, batch=20))
    save_ranker(weights, load_encoder().fingerprint, {"sources": ["toy"]}, out)
    return dict(load_file(out))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ranker of the toy vocabulary."""
    out = tmp_path_factory.mktemp("toy") / "r.safetensors"
    trained(out)
    return out


def chosen(ranker: PathRanker, texts: list[str], paths: list[HopNumbers]) -> list[HopNumbers]:
    """The best path for each question."""
    encode = load_encoder().encode
    relations = ranker.relations(encode([wordings[0] for wordings in WORDINGS]))
    return [max(paths, key=ranker.hops(encode([text])[0], relations).path) for text in texts]


def test_a_trained_ranker_knows_relation_direction_and_length(made: Path) -> None:
    paths: list[HopNumbers] = [
        ((0, False),),
        ((0, True),),
        ((2, False),),
        ((0, False), (2, False)),
        ((2, False), (0, False)),
    ]
    asked = ["who painted [X]", "what did [X] paint", "where was the painter of [X] born"]
    assert chosen(load_ranker(made), asked, paths) == [paths[0], paths[1], paths[3]]


def test_how_far_to_go_is_read_in_the_question(made: Path) -> None:
    ranker, encode = load_ranker(made), load_encoder().encode
    relations = ranker.relations(encode([wordings[0] for wordings in WORDINGS]))
    asked = ["who painted [X]", "where was the painter of [X] born"]
    assert [ranker.hops(vector, relations).longest() for vector in encode(asked)] == [1, 2]
    assert ranker.hops(encode(asked)[1], relations).longest(1) == 1


def test_training_can_start_from_another_ranker_and_several_paths_can_be_right() -> None:
    start = load_ranker(GENERAL)
    either: tuple[HopNumbers, ...] = (((0, False),), ((1, False), (2, True)))
    questions = [PathQuestion(f"who painted [X] {n}", "toy", either, (((1, False), (0, True)),)) for n in range(60)]
    weights = train(questions, TOY, load_encoder(), Training(epochs=20), start=start)
    ranker = PathRanker(weights, start.encoder, "", {})
    best = chosen(ranker, ["who painted [X]"], [*either, ((1, False), (0, True)), ((1, True),)])
    assert best[0] in either
    assert start.weights["scale"].tolist() == load_ranker.__wrapped__(GENERAL).weights["scale"].tolist()


def test_the_same_seed_gives_the_same_weights(made: Path, tmp_path: Path) -> None:
    one, other = load_file(made), trained(tmp_path / "b.safetensors")
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert load_ranker(made).fingerprint == load_ranker(tmp_path / "b.safetensors").fingerprint


def test_a_vocabulary_of_one_relation_can_be_learned() -> None:
    questions = [PathQuestion(f"who made [X] {n}", "one", (((0, False),),)) for n in range(50)]
    weights = train(questions, {"one": [["作者"]]}, load_encoder(), Training(epochs=1))
    assert all(np.isfinite(array).all() for array in weights.values())


class AnyVectors:
    """An encoder that reads nothing."""

    name, fingerprint, dimensions = "any", "any", 384

    def encode(self, texts: Sequence[str], progress: ProgressCallback = no_progress) -> FloatArray:
        return np.random.default_rng(0).standard_normal((len(texts), self.dimensions), np.float32)


def test_5000_relations_can_be_learned() -> None:
    wordings = [[f"{WORDINGS[number % 3][0]} {number}"] for number in range(5_000)]
    questions = [PathQuestion(f"who made [X] {n}", "many", (((n, False),),)) for n in range(50)]
    weights = train(questions, {"many": wordings}, AnyVectors(), Training(epochs=1))
    relations = PathRanker(weights, "", "", {}).relations(np.ones((5_000, 384), np.float32))
    assert relations.shape == (2, 5_000, 384)


def test_too_few_questions_and_paths_that_are_too_long_are_refused() -> None:
    with pytest.raises(UserError, match="at least 50 questions with paths; there are 3"):
        train(QUESTIONS[:3], TOY, load_encoder())
    long = PathQuestion("x", "toy", (((0, False),) * 4,))
    with pytest.raises(UserError, match="1 to 3 hops"):
        train([*QUESTIONS, long], TOY, load_encoder())
