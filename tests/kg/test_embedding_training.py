"""Training: it learns, resumes to the same weights, and becomes part of the knowledge base or leaves it as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from embedding_parts import QUICK, pykeen_graph, split_of
from kg_parts import built

from triplecheck.kg import KnowledgeBase
from triplecheck.kg.embedding import TrainingOptions, training
from triplecheck.kg.embedding.embeddings import checkpoint_folder, train_into
from triplecheck.kg.embedding.models import arrays_of
from triplecheck.kg.embedding.training import scorer_of, train
from triplecheck.kg.errors import KnowledgeBaseError, UserError


class KilledError(Exception):
    """As from outside."""


def kill_after(epoch: int) -> object:
    def progress(what: str, done: int, _total: int | None) -> None:
        if what.startswith("training") and done == epoch:
            raise KilledError

    return progress


@pytest.fixture(scope="module")
def nations(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return pykeen_graph("nations", tmp_path_factory.mktemp("graphs"))


@pytest.fixture
def mine(tmp_path: Path) -> KnowledgeBase:
    return pykeen_graph("nations", tmp_path)


@pytest.mark.parametrize(
    ("model", "loop", "expected"),
    [
        ("ComplEx", "pykeen", "lcwa"),
        ("ComplEx", "sampled", "sampled"),
        ("DistMult", "sampled", "sampled"),
        ("TransE", "auto", "lcwa"),
    ],
)
def test_a_killed_training_goes_on_to_the_weights_of_one_that_was_not(
    nations: KnowledgeBase, tmp_path: Path, model: str, loop: str, expected: str
) -> None:
    parts = split_of(nations)
    options = replace(QUICK, model=model, loop=loop)
    whole = train(parts, options)
    assert whole.loop == expected
    file = tmp_path / "checkpoint.safetensors"
    with pytest.raises(KilledError):
        train(parts, options, file, kill_after(3))  # type: ignore[arg-type]
    epochs: list[int] = []
    resumed = train(parts, options, file, lambda what, done, _: epochs.append(done) if "train" in what else None)
    assert epochs == [3, 4], "the last checkpoint was of epoch 2"
    ours, theirs = arrays_of(resumed.model), arrays_of(whole.model)
    assert ours is not None and theirs is not None
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])
    assert resumed.quality == whole.quality
    assert resumed.course.losses == whole.course.losses


def test_a_checkpoint_of_other_options_is_ignored(nations: KnowledgeBase, tmp_path: Path) -> None:
    parts, file = split_of(nations), tmp_path / "checkpoint.safetensors"
    train(parts, QUICK, file)
    other = replace(QUICK, seed=1)
    assert train(parts, other, file).course.losses == train(parts, other).course.losses


def test_more_epochs_prolong_a_training(nations: KnowledgeBase, tmp_path: Path) -> None:
    parts, file = split_of(nations), tmp_path / "checkpoint.safetensors"
    first = train(parts, replace(QUICK, epochs=2), file)
    longer = train(parts, QUICK, file)
    assert longer.course.losses[:2] == first.course.losses
    assert longer.course.losses == train(parts, QUICK).course.losses


def test_fewer_epochs_than_are_done_already_end_a_training(
    nations: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_SECONDS_BETWEEN_CHECKPOINTS", 0)
    parts, file = split_of(nations), tmp_path / "checkpoint.safetensors"
    long = replace(QUICK, epochs=50, evaluate_every=50)
    with pytest.raises(KilledError):
        train(parts, long, file, kill_after(3))  # type: ignore[arg-type]
    ended = train(parts, replace(long, epochs=2), file)
    assert ended.course.epoch == 3
    assert [epoch for epoch, _ in ended.course.looks] == [3]


def test_random_negatives_replace_all_tails_in_a_large_graph(
    nations: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "_LARGEST_BATCH", 1000)
    assert train(split_of(nations), replace(QUICK, model="TransE", loop="pykeen", epochs=1)).loop == "slcwa"


@pytest.mark.parametrize(("loop", "epochs"), [("pykeen", 8), ("sampled", 20)])
def test_it_learns(nations: KnowledgeBase, loop: str, epochs: int) -> None:
    options = TrainingOptions(dimensions=32, epochs=epochs, loop=loop, batch_size=64, evaluate_every=4)
    trained = train(split_of(nations), options)
    before = train(split_of(nations), replace(options, loop="sampled", epochs=1, learning_rate=1e-9))
    assert trained.course.losses[-1] < trained.course.losses[0]
    assert trained.quality.mrr > 0.6 > before.quality.mrr


def test_it_stops_when_it_gets_no_better(nations: KnowledgeBase) -> None:
    still = replace(QUICK, epochs=50, evaluate_every=1, patience=3, optimizer="SGD", learning_rate=1e-12)
    assert train(split_of(nations), still).course.epoch == 4


def test_a_diverging_training_says_so(nations: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="lower the learning rate"):
        train(split_of(nations), replace(QUICK, optimizer="SGD", learning_rate=1e30))


def test_embeddings_become_part_of_the_knowledge_base(mine: KnowledgeBase) -> None:
    assert mine.embeddings is None
    trained = train_into(mine.graph, mine.generation, QUICK)
    assert not checkpoint_folder(mine.path).exists()
    opened = KnowledgeBase.open(mine.path)
    opened.verify()
    found = opened.embeddings
    assert found is not None
    assert found.about.options == QUICK
    assert found.about.quality == trained.quality
    assert found.about.num_entities == opened.graph.num_entities
    assert opened.manifest.content_hash != mine.manifest.content_hash
    assert opened.manifest.counts == mine.manifest.counts
    np.testing.assert_array_equal(found.test, trained.split.test)
    heads, relations, tails = trained.split.test.T
    theirs = scorer_of(trained.model).score(heads, relations, tails)
    np.testing.assert_array_equal(found.score(heads, relations, tails), theirs)
    weights = mine.path / "embeddings" / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(KnowledgeBaseError, match="has changed"):
        opened.verify()


def test_a_model_without_array_form_is_stored_as_a_model(mine: KnowledgeBase) -> None:
    trained = train_into(mine.graph, mine.generation, replace(QUICK, model="SimplE", loop="pykeen", epochs=2))
    found = KnowledgeBase.open(mine.path).embeddings
    assert found is not None and found.about.scored_on == "model"
    heads, relations, tails = trained.split.test.T
    np.testing.assert_allclose(
        found.score(heads, relations, tails), scorer_of(trained.model).score(heads, relations, tails)
    )


def test_a_new_training_replaces_the_previous_result(mine: KnowledgeBase) -> None:
    train_into(mine.graph, mine.generation, QUICK)
    train_into(KnowledgeBase.open(mine.path).graph, mine.generation, replace(QUICK, dimensions=4, half=True))
    opened = KnowledgeBase.open(mine.path)
    opened.verify()
    assert opened.embeddings is not None
    assert opened.embeddings.about.options.dimensions == 4


def test_a_kill_leaves_the_knowledge_base_as_it_was_and_the_work_is_not_lost(mine: KnowledgeBase) -> None:
    with pytest.raises(KilledError):
        train_into(mine.graph, mine.generation, QUICK, kill_after(3))  # type: ignore[arg-type]
    opened = KnowledgeBase.open(mine.path)
    opened.verify()
    assert opened.embeddings is None
    epochs: list[int] = []
    train_into(
        opened.graph, opened.generation, QUICK, lambda what, done, _: epochs.append(done) if "train" in what else None
    )
    assert epochs == [3, 4]


def test_embeddings_of_another_format_are_refused(mine: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    train_into(mine.graph, mine.generation, QUICK)
    monkeypatch.setattr("triplecheck.kg.embedding.embeddings.VERSION", 9)
    opened = KnowledgeBase.open(mine.path)
    with pytest.raises(KnowledgeBaseError, match="train them again"):
        _ = opened.embeddings


def test_the_best_tails_are_the_best_of_all_and_none_that_is_excluded(mine: KnowledgeBase) -> None:
    train_into(mine.graph, mine.generation, QUICK)
    found = KnowledgeBase.open(mine.path).embeddings
    assert found is not None
    n = found.about.num_entities
    scores = found.score(np.zeros(n, int), np.full(n, 3), np.arange(n))
    order = [node for node in np.argsort(-scores, kind="stable").tolist() if node not in (0, 5)]
    best = found.best_tails(0, 3, 4, exclude=[0, 5, 5, 10_000])
    assert [node for node, _ in best] == order[:4]
    assert [score for _, score in best] == pytest.approx(scores[order[:4]].tolist(), abs=1e-5)
    assert len(found.best_tails(0, 3, 100, exclude=range(1, n))) == 1
    assert found.best_tails(0, 3, 2, exclude=range(n)) == []
    for wrong in ((n, 0), (0, 999), (-1, 0)):
        with pytest.raises(IndexError):
            found.best_tails(*wrong, k=1)
    with pytest.raises(IndexError):
        found.score(np.array([0]), np.array([0]), np.array([n]))


def test_values_have_vectors_only_on_request(tmp_path: Path) -> None:
    rows = "".join(f"p{i}\tknows\tp{(i * 7 + 1) % 30}\np{i}\tborn\t{1900 + i % 3}\n" for i in range(30))
    kb = built(tmp_path, rows)
    assert kb.graph.num_nodes > kb.graph.num_entities
    for values, known in ((False, kb.graph.num_entities), (True, kb.graph.num_nodes)):
        trained = train_into(kb.graph, kb.generation, replace(QUICK, values=values, epochs=2))
        assert trained.split.num_entities == known
        assert (trained.split.train[:, 2] >= kb.graph.num_entities).any() == values


def test_a_graph_with_too_few_triples_is_refused(people: KnowledgeBase, tmp_path: Path) -> None:
    kb = built(tmp_path, "a\tknows\tb\nb\tknows\tc\n")
    with pytest.raises(UserError, match="too few"):
        train_into(kb.graph, kb.generation, QUICK)
    assert not checkpoint_folder(kb.path).exists()


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"held_out": 1.0}, {"loop": "own"}, {"learning_rate": 0.0}])
def test_options_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError):
        TrainingOptions(**wrong)  # type: ignore[arg-type]
