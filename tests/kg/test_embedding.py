"""Scores on arrays are PyKEEN's scores; ranks are PyKEEN's ranks; vectors may be mapped and in half precision."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from embedding_parts import QUICK, pykeen_graph, split_of
from hypothesis import given, settings
from hypothesis import strategies as st

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.embedding import ArrayScorer, _files
from triplecheck.kg.embedding.models import TorchScorer, arrays_of, make_model
from triplecheck.kg.embedding.ranking import TripleSplit, quality, split
from triplecheck.kg.embedding.scoring import Scorer, interaction_of
from triplecheck.kg.embedding.training import scorer_of
from triplecheck.kg.errors import KnowledgeBaseError, UserError

ENTITIES, RELATIONS = 30, 4


def model_named(name: str) -> Any:
    return make_model(replace(QUICK, model=name), ENTITIES, RELATIONS).eval()


def random_triples(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, top, n) for top in (ENTITIES, RELATIONS, ENTITIES)], axis=1)


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return pykeen_graph("nations", tmp_path_factory.mktemp("graphs"))


@pytest.mark.parametrize("name", ["ComplEx", "DistMult", "TransE", "RotatE", "SimplE"])
def test_scores_are_those_of_pykeen(name: str) -> None:
    model = model_named(name)
    scorer = scorer_of(model)
    assert isinstance(scorer, TorchScorer if name == "SimplE" else ArrayScorer)
    assert scorer.num_entities == ENTITIES
    triples = random_triples(300)
    heads, relations, tails = triples.T
    with torch.inference_mode():
        of_triples = model.predict_hrt(torch.from_numpy(triples))[:, 0].numpy()
        for_tails = model.predict_t(torch.from_numpy(triples[:, :2])).numpy()
        for_heads = model.predict_h(torch.from_numpy(triples[:, 1:])).numpy()
    np.testing.assert_allclose(scorer.score(heads, relations, tails), of_triples, atol=1e-4)
    np.testing.assert_allclose(scorer.all_tails(heads, relations), for_tails, atol=1e-4)
    np.testing.assert_allclose(scorer.all_heads(relations, tails), for_heads, atol=1e-4)


def test_a_stored_state_makes_the_same_model_again() -> None:
    options = replace(QUICK, model="SimplE")
    model = model_named("SimplE")
    state = {name: tensor.numpy() + 0.5 for name, tensor in model.state_dict().items() if tensor.is_floating_point()}
    rest = {name: tensor.numpy() for name, tensor in model.state_dict().items() if not tensor.is_floating_point()}
    model.load_state_dict({name: torch.from_numpy(array) for name, array in (state | rest).items()})
    again = TorchScorer.from_state(options, ENTITIES, RELATIONS, state | rest)
    triples = random_triples(50)
    np.testing.assert_array_equal(again.score(*triples.T), TorchScorer(model).score(*triples.T))


def test_half_precision_from_a_mapped_file_scores_nearly_the_same(tmp_path: Path) -> None:
    arrays = arrays_of(model_named("ComplEx"))
    assert arrays is not None
    _files.save(tmp_path / "w.safetensors", {name: array.astype(np.float16) for name, array in arrays.items()})
    mapped, _ = _files.open_mapped(tmp_path / "w.safetensors")
    assert mapped["entities"].dtype == np.float16
    assert not mapped["entities"].flags.owndata and not mapped["entities"].flags.writeable
    interaction = interaction_of("ComplEx")
    assert interaction is not None
    whole = ArrayScorer(interaction, arrays["entities"], arrays["relations"])
    half = ArrayScorer(interaction, mapped["entities"], mapped["relations"])
    heads, relations, tails = random_triples(100).T
    exact = whole.score(heads, relations, tails)
    np.testing.assert_allclose(half.score(heads, relations, tails), exact, atol=2e-3)
    np.testing.assert_allclose(half.all_tails(heads, relations), whole.all_tails(heads, relations), atol=2e-3)


@pytest.mark.parametrize("content", [b"", b"\x10\0\0\0\0\0\0\0{}", b"\xff" * 40, b"\2\0\0\0\0\0\0\0[]"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(KnowledgeBaseError, match="damaged"):
        _files.open_mapped(tmp_path / "w.safetensors")


def test_ranks_are_those_of_pykeens_evaluator(nations: KnowledgeBase) -> None:
    from pykeen.evaluation import RankBasedEvaluator

    parts = split_of(nations)
    model = make_model(QUICK, parts.num_entities, parts.num_relations).eval()
    ours = quality(scorer_of(model), parts.test, parts)
    results = RankBasedEvaluator(filtered=True).evaluate(
        model,
        torch.from_numpy(parts.test),
        batch_size=32,
        additional_filter_triples=[torch.from_numpy(parts.train), torch.from_numpy(parts.validation)],
        use_tqdm=False,
    )
    assert ours.triples == len(parts.test)
    assert ours.mrr == pytest.approx(results.get_metric("both.realistic.inverse_harmonic_mean_rank"), abs=1e-4)
    assert ours.hits_at_1 == pytest.approx(results.get_metric("both.realistic.hits_at_1"), abs=1e-4)
    assert ours.hits_at_10 == pytest.approx(results.get_metric("both.realistic.hits_at_10"), abs=1e-4)


class Constant:
    """A scorer that finds everything equally plausible, or nothing plausible at all."""

    num_entities = ENTITIES

    def __init__(self, value: float) -> None:
        self.value = value

    def score(self, heads: Any, relations: Any, tails: Any) -> Any:
        return np.full(len(heads), self.value, np.float32)

    def all_tails(self, heads: Any, relations: Any) -> Any:
        return np.full((len(heads), ENTITIES), self.value, np.float32)

    all_heads = all_tails


@pytest.mark.parametrize("value", [1.0, float("nan")])
def test_a_model_with_equal_scores_does_not_rank_well(value: float) -> None:
    scorer: Scorer = Constant(value)
    triples = np.unique(random_triples(40), axis=0)
    parts = TripleSplit(triples[:0], triples[:0], triples, ENTITIES, RELATIONS)
    assert quality(scorer, triples, parts).mrr < 0.15


@settings(max_examples=40)
@given(st.integers(20, 200), st.floats(0.05, 0.9), st.integers(0, 5))
def test_what_is_held_out_can_be_spared(n: int, share: float, seed: int) -> None:
    triples = np.unique(random_triples(n, seed), axis=0)
    parts = split(triples, ENTITIES, RELATIONS, share, seed)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    np.testing.assert_array_equal(np.unique(together, axis=0), triples)
    assert len(together) == len(triples)
    assert len(parts.validation) + len(parts.test) <= round(share * len(triples))
    assert set(triples[:, 0]) | set(triples[:, 2]) == set(parts.train[:, 0]) | set(parts.train[:, 2])
    assert set(triples[:, 1]) == set(parts.train[:, 1])


@pytest.mark.parametrize("name", ["CompleX", "rotate"])
def test_models_are_found_by_name_whatever_its_case(name: str) -> None:
    assert type(model_named(name)).__name__.casefold() == name.casefold()


def test_an_unknown_model_is_refused_with_like_names() -> None:
    with pytest.raises(UserError, match="ComplEx"):
        model_named("Complexx")


def test_a_model_that_needs_more_than_triples_is_refused() -> None:
    with pytest.raises(UserError, match="choose another model"):
        model_named("NodePiece")
