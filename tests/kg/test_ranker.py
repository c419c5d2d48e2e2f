"""The trained ranker of relation paths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from triplecheck.kg.encode import load_encoder
from triplecheck.kg.errors import UserError
from triplecheck.kg.ranker import FORMAT, GENERAL, LONGEST, load_ranker
from triplecheck.language.question import read_question
from triplecheck.language.relevance import PathRelevance
from triplecheck.lms.extractive.engine import ExtractiveEngine
from triplecheck.lms.resolve import language_model
from triplecheck.signatures.notation import BACKWARD, FORWARD, WrittenHop


def chances(question: str, topics: list[str], labels: list[str], topic: str = "") -> np.ndarray:
    """What the ranker adds to each relation, followed forward then backward."""
    encode = load_encoder().encode
    relevance = PathRelevance(read_question(question, topics), encode, load_ranker())
    paths = [(WrittenHop(label, arrow),) for arrow in (FORWARD, BACKWARD) for label in labels]
    topics_of = [topic or topics[0]] * len(paths)
    return relevance.paths(paths, topics=topics_of) - PathRelevance(read_question(question, topics), encode).paths(
        paths
    )


def test_the_package_has_a_ranker_for_the_default_encoder() -> None:
    assert load_ranker().encoder == load_encoder().fingerprint
    assert GENERAL.stat().st_size < 5_000_000


def test_a_relation_is_found_that_shares_no_word_with_the_question() -> None:
    labels = ["place of birth", "spouse", "director", "genre"]
    assert labels[int(chances("who made Alien?", ["Alien"], labels)[:4].argmax())] == "director"
    assert labels[int(chances("who is Ann married to?", ["Ann"], labels)[:4].argmax())] == "spouse"


def test_questions_about_several_things_are_left_to_the_rules() -> None:
    assert not chances("which films did Ann and Bob make?", ["Ann", "Bob"], ["director", "genre"]).any()


def test_the_direction_depends_on_the_question() -> None:
    forward, backward = chances("who wrote Emma?", ["Emma"], ["author"])
    assert forward > backward
    forward, backward = chances("which books did Jane Austen write?", ["Jane Austen"], ["author"])
    assert backward > forward


def test_the_same_input_gives_the_same_scores() -> None:
    labels = ["director", "writer", "genre"]
    first, second = (chances("who made Alien?", ["Alien"], labels) for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_a_path_is_scored_by_its_hops() -> None:
    ranker, rng = load_ranker(), np.random.default_rng(0)
    vectors = rng.normal(size=(5, 384)).astype(np.float32)
    hops = ranker.hops(vectors[0], ranker.relations(vectors))
    expected = hops.lengths[1] + hops.tables[2, 1][0, 3] + hops.tables[2, 2][1, 4]
    assert hops.path([(3, False), (4, True)]) == pytest.approx(expected, abs=1e-5)
    assert np.isfinite(hops.path([(0, False)] * (LONGEST + 2)))


def test_a_path_ends_where_further_hops_fit_worse() -> None:
    ranker, encode = load_ranker(), load_encoder().encode
    relations = ranker.relations(encode(["director", "place of birth", "genre"]))
    one, two = (ranker.hops(v, relations) for v in encode(["who directed [X]", "where was the director of [X] born"]))
    assert one.whole([(0, False)], 3) > two.whole([(0, False)], 3)
    assert one.whole([(0, False)], 1) == 0.0 and one.whole([(0, False)] * (LONGEST + 1), 3) == 0.0


def test_a_graph_with_one_relation_or_five_thousand_or_other_scripts() -> None:
    ranker, encode = load_ranker(), load_encoder().encode
    question = encode(["who wrote [X]"])[0]
    for vectors in (encode(["作者"]), np.random.default_rng(0).normal(size=(5000, 384)).astype(np.float32)):
        first = ranker.hops(question, ranker.relations(vectors)).first
        assert first.shape == (2, len(vectors))
        assert np.isfinite(first).all()


def test_own_and_other_topics_are_masked_differently() -> None:
    question = read_question("Which films with Ann did Bob direct?", ["Ann", "Bob"])
    assert question.masked("Ann") == "which films with [X] did [Y] direct"
    assert question.masked("Bob") == "which films with [Y] did [X] direct"
    assert read_question("Who?", []).masked() == "who"


def test_a_file_that_is_no_ranker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.safetensors: cannot be read as a path ranker"):
        load_ranker(tmp_path / "none.safetensors")
    (tmp_path / "text.safetensors").write_text("no tensors")
    with pytest.raises(UserError, match="cannot be read as a path ranker"):
        load_ranker(tmp_path / "text.safetensors")
    save_file(load_file(GENERAL), tmp_path / "old.safetensors", {"format": "other", "encoder": "x"})
    with pytest.raises(UserError, match="of another version"):
        load_ranker(tmp_path / "old.safetensors")


def test_a_ranker_of_another_encoder_is_refused(tmp_path: Path) -> None:
    save_file(load_file(GENERAL), tmp_path / "r.safetensors", {"format": FORMAT, "encoder": "other"})
    with pytest.raises(UserError, match="trained with another sentence encoder"):
        _ = ExtractiveEngine(ranker=tmp_path / "r.safetensors").fingerprint


def test_a_model_string_turns_the_ranker_off() -> None:
    with_ranker, without = language_model("extractive"), language_model("extractive?ranker=none")
    german = language_model("extractive?language=de")
    assert len({with_ranker.model, without.model, german.model}) == 3
    with pytest.raises(UserError, match="there is no setting 'rank'; there are ranker and language"):
        language_model("extractive?rank=none")
