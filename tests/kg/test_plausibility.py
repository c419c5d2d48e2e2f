"""Scores of triples by the embeddings, reasons for missing scores, and how well the scores are calibrated."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from embedding_parts import QUICK, pykeen_graph
from hypothesis import given, settings
from hypothesis import strategies as st
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.embedding.embeddings import train_into
from triplecheck.kg.errors import UserError
from triplecheck.kg.plausibility import METHODS, Plausibility, Skip, calibrate
from triplecheck.kg.plausibility.calibration import CORRUPTIONS, UNITS, corrupt
from triplecheck.kg.plausibility.report import draw
from triplecheck.kg.types import Direction


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    kb = pykeen_graph("nations", tmp_path_factory.mktemp("graphs"))
    train_into(kb.graph, kb.generation, replace(QUICK, dimensions=32, epochs=20, batch_size=64, evaluate_every=10))
    return KnowledgeBase.open(kb.path)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """People who know each other; `loner` is only ever known, and birth years are values."""
    rows = "".join(f"p{i}\tknows\tp{(i * 7 + 1) % 30}\np{i}\tborn\t{1900 + i % 3}\n" for i in range(30))
    kb = built(tmp_path_factory.mktemp("family"), rows + "p0\tknows\tloner\np1\tknows\tloner\n")
    train_into(kb.graph, kb.generation, replace(QUICK, epochs=2))
    return KnowledgeBase.open(kb.path)


def kge(kb: KnowledgeBase, head: int, relation: int, tail: int) -> float:
    assert kb.embeddings is not None
    return float(kb.embeddings.score(np.array([head]), np.array([relation]), np.array([tail]))[0])


def test_the_papers_score_is_the_distance_from_the_mean_of_the_heads_own_triples(nations: KnowledgeBase) -> None:
    edges = nations.graph.expand([3], direction=Direction.OUT)
    own = [kge(nations, 3, int(r), int(t)) for r, t in zip(edges.relations, edges.tails, strict=True)]
    found = Plausibility.of(nations).relative_score([(3, 5, 7)])
    assert found.score == pytest.approx(abs(kge(nations, 3, 5, 7) - float(np.mean(own))), abs=1e-5)
    assert found.reason == ""


def test_sum_and_mean(nations: KnowledgeBase) -> None:
    triples = [(3, 5, 7), (1, 2, 3), (None, 2, 3)]
    each = [Plausibility.of(nations).relative_score([triple]).score for triple in triples[:2]]
    assert Plausibility.of(nations).relative_score(triples).score == pytest.approx(sum(each))
    assert Plausibility.of(nations, aggregate="mean").relative_score(triples).score == pytest.approx(sum(each) / 2)


def test_what_cannot_be_scored_is_skipped_with_its_reason(family: KnowledgeBase) -> None:
    graph = family.graph
    p0, p1, loner = (graph.find(name) for name in ("p0", "p1", "loner"))
    knows, born = graph.find_relation("knows"), graph.find_relation("born")
    year = graph.find("1900")
    assert year is not None and year >= graph.num_entities
    found = Plausibility.of(family).relative_score(
        [
            (None, knows, p1),
            (p0, None, p1),
            (p0, knows, None),
            (year, knows, p1),
            (p0, born, year),
            (loner, knows, p0),
            (p0, knows, p1),
        ]
    )
    assert [triple.skipped for triple in found.triples] == [
        Skip.UNKNOWN_HEAD,
        Skip.UNKNOWN_RELATION,
        Skip.UNKNOWN_TAIL,
        Skip.HEAD_WITHOUT_VECTOR,
        Skip.TAIL_WITHOUT_VECTOR,
        Skip.NO_REFERENCE,
        None,
    ]
    assert found.skipped[Skip.NO_REFERENCE] == 1 and sum(found.skipped.values()) == 6
    assert found.score == found.triples[-1].score


@pytest.mark.parametrize("triples", [[], [(None, 0, 1)], [(0, None, 1), (None, 0, None)]])
def test_nothing_to_score_is_infinitely_implausible_and_says_why(nations: KnowledgeBase, triples: list) -> None:
    found = Plausibility.of(nations).relative_score(triples)
    assert found.score == math.inf
    assert found.reason


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=30)
@given(data=st.data())
def test_a_score_is_never_nan(nations: KnowledgeBase, method: str, data: st.DataObject) -> None:
    node = st.one_of(st.none(), st.integers(0, 20))
    triples = data.draw(st.lists(st.tuples(node, st.one_of(st.none(), st.integers(0, 60)), node), max_size=6))
    found = Plausibility.of(nations, method).relative_score(triples)
    assert not math.isnan(found.score)
    assert len(found.triples) == len(triples)
    assert all((triple.score is None) == (triple.skipped is not None) for triple in found.triples)


def test_hubs_are_sampled_deterministically(nations: KnowledgeBase) -> None:
    assert nations.embeddings is not None
    few = [Plausibility(nations.graph, nations.embeddings, references=5).relative_score([(3, 5, 7)]) for _ in range(2)]
    assert few[0] == few[1]
    assert few[0].score != Plausibility.of(nations).relative_score([(3, 5, 7)]).score


def test_leaving_out_compares_with_the_other_triples_alone(nations: KnowledgeBase) -> None:
    assert nations.embeddings is not None
    edges = nations.graph.expand([3], direction=Direction.OUT)
    own = [kge(nations, 3, int(r), int(t)) for r, t in zip(edges.relations, edges.tails, strict=True)]
    judge = Plausibility(nations.graph, nations.embeddings, leave_out=True)
    found = judge.relative_score([(3, int(edges.relations[0]), int(edges.tails[0]))])
    assert found.score == pytest.approx(abs(own[0] - float(np.mean(own[1:]))), abs=1e-5)


def test_the_score_by_relation_is_in_standard_deviations(nations: KnowledgeBase) -> None:
    graph = nations.graph
    edges = graph.expand(np.arange(graph.num_entities), relation=5, direction=Direction.OUT)
    own = [kge(nations, int(h), 5, int(t)) for h, t in zip(edges.heads, edges.tails, strict=True)]
    found = Plausibility.of(nations, "per_relation").relative_score([(3, 5, 7)])
    assert found.score == pytest.approx((np.mean(own) - kge(nations, 3, 5, 7)) / np.std(own), abs=1e-4)


def test_the_tail_rank_is_the_share_of_unknown_entities_that_are_preferred(nations: KnowledgeBase) -> None:
    known = set(nations.graph.neighbors(3, 5).tolist())
    tail = next(node for node in range(14) if node not in known)
    others = [node for node in range(14) if node not in known]
    better = sum(kge(nations, 3, 5, node) > kge(nations, 3, 5, tail) for node in others)
    found = Plausibility.of(nations, "tail_rank").relative_score([(3, 5, tail)])
    assert found.score == pytest.approx(better / 14)


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_corrupted_triples_are_unknown_to_the_graph(nations: KnowledgeBase, corruption: str) -> None:
    assert nations.embeddings is not None
    graph, test = nations.graph, nations.embeddings.test
    kept, corrupted = corrupt(graph, test, graph.num_entities, corruption, np.random.default_rng(0))
    assert 0 < len(kept) == len(corrupted) <= len(test)
    assert not graph.contains_many(*corrupted.T).any()
    np.testing.assert_array_equal(kept[:, :2], corrupted[:, :2])
    if corruption == "consistent":
        for _, relation, tail in corrupted.tolist():
            assert len(graph.neighbors(tail, relation, Direction.IN)) > 0


def test_true_triples_are_separated_from_corrupted_ones(nations: KnowledgeBase, tmp_path: Path) -> None:
    curves = calibrate(Plausibility.of(nations))
    assert len(curves) == len(METHODS) * len(CORRUPTIONS) * len(UNITS)
    by = {(curve.method, curve.corruption, curve.unit): curve for curve in curves}
    assert by["tail_rank", "random", "triple"].auroc > 0.7
    for curve in curves:
        assert 0 <= curve.auroc <= 1
        assert (curve.false_positives[0], curve.true_positives[0]) == (0, 0)
        assert (curve.false_positives[-1], curve.true_positives[-1]) == (1, 1)
        assert (np.diff(curve.true_positives) >= 0).all()
    picture = draw(curves, "random", "nations", tmp_path)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_area_is_the_chance_that_a_corrupted_one_scores_higher(nations: KnowledgeBase) -> None:
    from scipy.stats import mannwhitneyu

    assert nations.embeddings is not None
    graph, test = nations.graph, nations.embeddings.test
    curve = next(c for c in calibrate(Plausibility.of(nations, "raw"), seed=4) if c.method == "raw")
    rng = np.random.default_rng(4)
    true = test[np.sort(rng.permutation(len(test))[:2000])]
    kept, corrupted = corrupt(graph, true, graph.num_entities, "random", rng)
    judge = Plausibility(graph, nations.embeddings, "raw", leave_out=True)
    good, bad = judge.triple_scores(kept), judge.triple_scores(corrupted)
    assert curve.auroc == pytest.approx(mannwhitneyu(bad, good).statistic / len(good) / len(bad))
    shares = ((good < curve.threshold).mean(), (bad < curve.threshold).mean())
    assert shares[0] - shares[1] == pytest.approx((curve.true_positives - curve.false_positives).max())


def test_without_embeddings_it_says_how_to_train_them(people: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="kb embed"):
        Plausibility.of(people)


@pytest.mark.parametrize("wrong", [{"method": "absolute"}, {"aggregate": "product"}])
def test_unknown_switches_are_refused(nations: KnowledgeBase, wrong: dict[str, str]) -> None:
    with pytest.raises(UserError, match="there are"):
        Plausibility.of(nations, **wrong)
