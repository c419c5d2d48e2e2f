"""The confidence of an answer from its proof, and abstention below a threshold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program_parts import ask, build_rows
from safetensors import safe_open

from triplecheck.kg import KnowledgeBase, UserError
from triplecheck.kg.encode import load_encoder
from triplecheck.kg.ranker import load_ranker
from triplecheck.language.question import read_question
from triplecheck.lms.kinds import BASELINE, LANGUAGE_MODEL, kind_of
from triplecheck.programs import KERAG, Outcome, Sources
from triplecheck.programs.base import make_program
from triplecheck.programs.judge.confidence import FACTS, ConfidenceModels, fit_model, packaged_models, read_models
from triplecheck.programs.judge.features import features_of
from triplecheck.programs.judge.joined import mixed, namesakes
from triplecheck.programs.judge.left_out import is_no_person, uncovered, unnamed
from triplecheck.programs.judge.proof import Proof
from triplecheck.programs.judge.ranked import COMMON, ideal_hop
from triplecheck.programs.judge.verdicts import nearest_facts
from triplecheck.programs.steps import Linked, Stopped, Trace, TraceEvent

MONGOLIA = "What is the capital of Mongolia?"


def proof(
    base: KnowledgeBase, question: str, *edges: tuple[str, str, str], backwards: bool = False, **outcome: Any
) -> Proof:
    """The proof of the tail of the last edge, with the head of the first for a topic; backwards the other ends."""
    graph = base.graph
    found = [(_node(base, h), _relation(base, r), _node(base, t)) for h, r, t in edges]
    first, last = (2, 0) if backwards else (0, 2)
    topic = graph.node_id(found[0][first])
    linked: list[TraceEvent] = [Linked(edges[0][first], [{"id": topic, "score": 1.0}], [topic])]
    encode = load_encoder().encode
    answer = found[-1][last]
    outcome = {"answers": (answer,), "grounded": True, **outcome}
    return Proof(graph, encode, question, Outcome(graph.label(answer), evidence=tuple(found), **outcome), linked)


def _node(base: KnowledgeBase, label: str) -> int:
    return next(c.node for c in base.linker.candidates(label))


def _relation(base: KnowledgeBase, label: str) -> int:
    graph = base.graph
    return next(number for number in range(graph.num_relations) if graph.relation(number).label == label)


def features(found: Proof) -> dict[str, float]:
    """The features of a proof, with the general ranker."""
    return features_of(found, load_ranker())


CAPITAL = ("Mongolia", "capital", "Ulaanbaatar")


def confidence(found: Proof) -> float:
    """By the model of the baseline."""
    own = features(found)
    return packaged_models().of(BASELINE, own)(own)


def test_a_proof_that_says_what_is_asked_gives_more_confidence(bundled: KnowledgeBase) -> None:
    right = confidence(proof(bundled, MONGOLIA, CAPITAL))
    wrong = confidence(proof(bundled, "Who is the mayor of Mongolia?", CAPITAL))
    assert 0 <= wrong < right <= 1


def test_a_wrong_kind_of_answer_is_a_feature(bundled: KnowledgeBase) -> None:
    assert features(proof(bundled, "When was Mongolia's capital?", CAPITAL))["kind_fit"] == -1
    assert features(proof(bundled, "Where is Mongolia's capital?", CAPITAL))["kind_fit"] == 1


def test_a_number_in_place_of_a_thing_is_of_the_wrong_kind(bundled: KnowledgeBase) -> None:
    shot, length = ("Ran", "directed by", "Akira Kurosawa"), ("Ran", "running time in minutes", "162")
    shortest = "Which is the shortest film by Akira Kurosawa?"
    assert features(proof(bundled, shortest, shot, length))["kind_fit"] == -1
    assert features(proof(bundled, "How long is the film Ran?", length))["kind_fit"] != -1


def test_the_topic_is_no_answer(bundled: KnowledgeBase) -> None:
    topic = _node(bundled, "Mongolia")
    assert features(proof(bundled, "Where is Mongolia?", CAPITAL, answers=(topic,)))["kind_fit"] == -1
    either = "Which has a capital, Mongolia or Peru?"
    assert features(proof(bundled, either, CAPITAL, answers=(topic,)))["kind_fit"] == 0


def test_a_thing_of_another_class_is_of_the_wrong_kind(bundled: KnowledgeBase) -> None:
    written = ("The Trial", "author", "Franz Kafka")
    assert features(proof(bundled, "Which country is The Trial from?", written))["kind_fit"] == -1
    assert features(proof(bundled, "Which novelist wrote The Trial?", written))["kind_fit"] != -1


def test_the_class_beside_a_name_is_no_part_of_what_is_asked(bundled: KnowledgeBase) -> None:
    length = ("Ran", "running time in minutes", "162")
    titled, plain = (proof(bundled, f"What is the running time of {name}?", length) for name in ("the film Ran", "Ran"))
    assert titled.coverage == plain.coverage and unnamed(titled) == []
    assert unnamed(proof(bundled, "What is the running time of the play Ran?", length)) == ["play"]


def test_a_part_of_the_name_of_a_topic_is_no_topic_beside_it(bundled: KnowledgeBase) -> None:
    taught = ("Paul Hindemith", "student of", "Bernhard Sekles")
    assert "Hindemith" in bundled.graph.entity(_node(bundled, "Paul Hindemith")).aliases
    assert proof(bundled, "Who taught Paul Hindemith?", taught).masked == ["who taught [X]"]
    assert proof(bundled, "Who taught Hindemith?", taught).masked == ["who taught [X]"]


@pytest.mark.parametrize(("classes", "surely"), [(("person", "line"), True), (("depot", "line"), False)])
def test_who_is_no_line_where_the_graph_has_persons(classes: tuple[str, str], surely: bool, tmp_path: Path) -> None:
    rows = [("Ida", "type", classes[0]), *((f"{colour} Line", "type", classes[1]) for colour in ("Red", "Blue"))]
    graph = build_rows([*rows, ("Yard", "run by", "Red Line")], tmp_path).graph
    read = read_question("Who runs the yard?")
    answers = [node for node in range(graph.num_entities) if graph.label(node) == "Red Line"]
    assert is_no_person(graph, read, [], answers, load_encoder().encode) == surely


def test_what_has_another_number_than_the_question_says_is_uncovered(tmp_path: Path) -> None:
    edge = ("Raft Race 2014", "won by", "Aro")
    base = build_rows([edge, ("Raft Race 2013", "won by", "Bry")], tmp_path, "all-MiniLM-L6-v2")
    assert features(proof(base, "Who won the Raft Race 2014?", edge))["uncovered"] == 0
    assert features(proof(base, "Who won the Raft Race 2015?", edge))["uncovered"] > 0


def test_what_has_an_engineer_is_no_engineer(tmp_path: Path) -> None:
    first, second = ("Tam", "born in", "Oss"), ("Low Bridge", "bridge engineer", "Tam")
    base = build_rows([first, second, ("Tam", "type", "person")], tmp_path, "all-MiniLM-L6-v2")
    back = proof(base, "Which bridge engineers were born in Oss?", first, second, backwards=True)
    assert "bridge engineers" in uncovered(back)


def test_an_adjective_that_the_answers_tell_is_not_left_out(tmp_path: Path) -> None:
    edge = ("Low Farm", "grows", "beans")
    base = build_rows([edge, ("Low Farm", "certified organic", "no")], tmp_path, "all-MiniLM-L6-v2")
    assert "organic" in uncovered(proof(base, "Which organic farms grow beans?", edge, backwards=True))
    assert "small" not in uncovered(proof(base, "Which small farms grow beans?", edge, backwards=True))


def test_who_is_in_a_team_is_not_the_team(tmp_path: Path) -> None:
    rows = [("Red", "owns", "Portal"), ("Red", "type", "team"), ("Ada", "in team", "Red"), ("Ada", "type", "person")]
    graph = build_rows(rows, tmp_path, "all-MiniLM-L6-v2").graph
    red = [node for node in range(graph.num_entities) if graph.label(node) == "Red"]
    for question, surely in (("Who is in the team that owns Portal?", True), ("Who owns Portal?", False)):
        assert is_no_person(graph, read_question(question), [], red, load_encoder().encode) == surely


def test_where_something_is_is_not_what_takes_place_there(tmp_path: Path) -> None:
    edge = ("Spring Fair", "location", "Old Hall")
    rows = [edge, ("Spring Fair", "type", "event"), ("Old Hall", "type", "hall"), ("Old Hall", "address", "Low Road")]
    base = build_rows(rows, tmp_path, "all-MiniLM-L6-v2")
    assert "where" in uncovered(proof(base, "Where is Old Hall?", edge, backwards=True))
    assert "where" not in uncovered(proof(base, "Where is Spring Fair?", edge))


def test_an_answer_from_which_the_relation_that_is_asked_for_leads_on_is_uncovered(tmp_path: Path) -> None:
    edge = ("Tam", "born in", "Oss")
    base = build_rows([edge, ("Oss", "county", "Vell")], tmp_path, "all-MiniLM-L6-v2")
    assert features(proof(base, "Where was Tam born?", edge))["uncovered"] == 0
    assert features(proof(base, "In which county was Tam born?", edge))["uncovered"] > 0


def test_an_answer_of_the_wrong_kind_is_hardly_ever_right(bundled: KnowledgeBase) -> None:
    assert confidence(proof(bundled, "When was Mongolia's capital?", CAPITAL)) <= 0.1


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (MONGOLIA, []),
        ("What was the capital of Mongolia after 1990?", ["after 1990"]),
        ("What is not the capital of Mongolia?", ["not"]),
        ("What is the largest capital of Mongolia?", ["largest"]),
        ("How many capitals does Mongolia have?", ["How many"]),
        ("What is the capital of Mongolia and of Peru?", ["Peru"]),
        ("What is Mongolia's neighbour's capital?", ["neighbour"]),
        ("Which is the capital of Mongolia's neighbour?", ["neighbour"]),
        ("What is Mongolia's capital?", []),
    ],
)
def test_conditions_without_a_fact_are_named(bundled: KnowledgeBase, question: str, parts: list[str]) -> None:
    assert uncovered(proof(bundled, question, CAPITAL)) == parts


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("When was William Shakespeare born?", ["born"]),
        ("When did William Shakespeare die?", []),
        ("What is William Shakespeare's date of death?", []),
        ("When was William Shakespeare born, and when did he die?", []),
    ],
)
def test_a_relation_that_says_the_opposite_does_not_prove(
    bundled: KnowledgeBase, question: str, parts: list[str]
) -> None:
    died = proof(bundled, question, ("William Shakespeare", "date of death", "1616-04-23"))
    assert [part for part in uncovered(died) if part in ("born", "die")] == parts


@pytest.mark.parametrize(
    ("question", "topic", "answer", "parts"),
    [
        ("Who was the husband of Ada?", "Ada", "Ben", []),  # the relation is followed backwards
        ("Who was the husband of Ben?", "Ben", "Ada", ["husband"]),
        ("Who was the wife of Ben?", "Ben", "Ada", []),
    ],
)
def test_a_relation_followed_backwards_may_be_the_opposite(
    tmp_path: Path, question: str, topic: str, answer: str, parts: list[str]
) -> None:
    base = KnowledgeBase.from_triples([("Ben", "wife", "Ada")], tmp_path / "kb", encoder=None)
    id = base.graph.node_id(_node(base, topic))
    found = Outcome(
        answer,
        answers=(_node(base, answer),),
        grounded=True,
        evidence=((_node(base, "Ben"), _relation(base, "wife"), _node(base, "Ada")),),
    )
    linked: list[TraceEvent] = [Linked(topic, [{"id": id, "score": 1.0}], [id])]
    assert uncovered(Proof(base.graph, load_encoder().encode, question, found, linked)) == parts


def test_the_facts_nearest_to_a_question_are_found(bundled: KnowledgeBase) -> None:
    missing, triples = nearest_facts(proof(bundled, "Who is the mayor of Mongolia?", CAPITAL))
    assert missing == "mayor"
    graph = bundled.graph
    assert triples and all(graph.contains(*edge) for edge in triples)
    assert nearest_facts(Proof(graph, load_encoder().encode, MONGOLIA, Outcome(), [])) == ("", ())


def test_what_and_joins_is_joined_with_the_answer_by_one_relation(tmp_path: Path) -> None:
    crew = [(mission, "crew member", name) for mission in ("Borea", "Cirrus") for name in ("Ann Roe", "Bob Lund")]
    base = KnowledgeBase.from_triples([*crew, ("Cirrus", "commanded by", "Ann Roe")], tmp_path / "kb", encoder=None)
    nodes = {name: _node(base, name) for name in ("Ann Roe", "Bob Lund", "Cirrus")}

    def others(question: str, relation: str) -> list[str]:
        edges = ((relation, "Ann Roe"), ("crew member", "Bob Lund"))
        evidence = tuple((nodes["Cirrus"], _relation(base, label), nodes[name]) for label, name in edges)
        found = Outcome("Cirrus", answers=(nodes["Cirrus"],), evidence=evidence, grounded=True)
        ids = {name: base.graph.node_id(nodes[name]) for _, name in edges}
        linked: list[TraceEvent] = [Linked(name, [{"id": id, "score": 1.0}], [id]) for name, id in ids.items()]
        return mixed(Proof(base.graph, load_encoder().encode, question, found, linked))

    both = "Which missions were Ann Roe and Bob Lund aboard?"
    assert others(both, "commanded by") == ["Ann Roe", "Bob Lund"]
    assert others(both, "crew member") == []
    assert others("Which mission did Ann Roe command and Bob Lund join?", "commanded by") == []


def test_a_superlative_without_an_order_is_uncovered(tmp_path: Path) -> None:
    base = build_rows([("Ada", "friend", "Bo"), ("Ada", "best friend", "Cy")], tmp_path)
    asked = "Who is the best friend of Ada?"
    assert uncovered(proof(base, asked, ("Ada", "friend", "Bo"))) == ["best"]
    assert uncovered(proof(base, asked, ("Ada", "best friend", "Cy"))) == []


def test_a_value_is_what_the_noun_of_the_question_names(tmp_path: Path) -> None:
    base = build_rows([("Ada", "height", "1804"), ("Ada", "given prize on", "1804-05-06")], tmp_path)
    assert unnamed(proof(base, "For what reason was Ada given a prize?", ("Ada", "given prize on", "1804-05-06")))
    assert unnamed(proof(base, "What is the height of Ada?", ("Ada", "height", "1804"))) == []


def test_one_of_two_of_a_name_proves_nothing_if_the_other_has_the_same_relation(tmp_path: Path) -> None:
    rows = [
        ("Hamlet (1948)", "director", "Ada"),
        ("Hamlet (1990)", "director", "Bo"),
        ("Hamlet (village)", "mayor", "Cy"),
    ]
    base = build_rows(rows, tmp_path)
    found = proof(base, "Who directed Hamlet?", ("Hamlet (1948)", "director", "Ada"))

    def linked(*names: str) -> Proof:
        ids = [base.graph.node_id(_node(base, name)) for name in names]
        candidates = [{"id": id, "source": "label", "score": 1.0} for id in ids]
        found.steps = [Linked("Hamlet", candidates, ids)]
        found.__dict__.pop("linked", None)
        return found

    assert namesakes(linked("Hamlet (1948)")) == []
    assert namesakes(linked("Hamlet (1948)", "Hamlet (village)")) == []
    assert namesakes(linked("Hamlet (1948)", "Hamlet (1990)")) == ["Hamlet"]


class TestModel:
    def rows(self) -> tuple[list[dict[str, float]], list[bool], list[str]]:
        random = np.random.default_rng(0)
        values = random.normal(size=(400, 2))
        odds = 2 * values[:, 0] - 0.5
        right = random.random(400) < 1 / (1 + np.exp(-odds))
        rows = [{"telling": float(a), "noise": float(b), "constant": 1.0} for a, b in values]
        return rows, right.tolist(), ["a"] * 300 + ["b"] * 100

    def test_it_is_fitted_to_what_tells_right_from_wrong(self) -> None:
        model = fit_model(*self.rows(), names=("telling", "noise", "constant"))
        weights = dict(zip(model.names, model.weights, strict=True))
        assert weights["telling"] > 0.7 > 0.2 > abs(weights["noise"])
        assert weights["constant"] == pytest.approx(0, abs=1e-6)
        assert model({"telling": 2.0, "noise": 0.0}) > 0.7 > 0.3 > model({"telling": -2.0, "noise": 0.0})
        assert model.fitted_on == {"a": 300, "b": 100}

    def test_it_is_read_back(self, tmp_path: Path) -> None:
        model = fit_model(*self.rows(), names=("telling", "noise", "constant"))
        models = ConfidenceModels({BASELINE: {FACTS: model}}, 0.5)
        file = tmp_path / "confidence.json"
        file.write_text(models.to_json())
        assert read_models(file) == models
        file.write_text("{}")
        with pytest.raises(UserError, match="no confidence model"):
            read_models(file)

    def test_each_kind_of_model_and_each_way_to_an_answer_has_its_own(self) -> None:
        one = fit_model(*self.rows(), names=("telling", "noise", "constant"))
        other = replace(one, proved=0.5)
        models = ConfidenceModels({BASELINE: {FACTS: one}, LANGUAGE_MODEL: {FACTS: other}}, 0.5)
        assert models.of(BASELINE, {"hops": 1.0}) is one
        assert models.of(LANGUAGE_MODEL, {"hops": 1.0}) is other
        assert ConfidenceModels({BASELINE: {FACTS: one}}, 0.5).of(LANGUAGE_MODEL, {}) is one, (
            "until it has one of its own"
        )
        with pytest.raises(UserError, match="no confidence model"):
            models.of(BASELINE, {"query": 1.0})

    def test_a_likely_answer_is_given_unless_a_condition_has_no_fact(self) -> None:
        models = ConfidenceModels({}, 0.6)
        assert models.gives(0.6, {"uncovered": 0.0}) and models.gives(0.6, {"query": 1.0})
        assert not (models.gives(0.59, {}) or models.gives(None, {}) or models.gives(0.9, {"uncovered": 1.0}))

    def test_one_language_model_in_any_role_makes_the_kind(self) -> None:
        assert kind_of([]) == kind_of(["extractive", "extractive?ranker=none"]) == BASELINE
        assert kind_of(["extractive", "openai/gpt-4o-mini"]) == LANGUAGE_MODEL

    def test_a_group_of_many_answers_does_not_drown_the_others(self) -> None:
        rows, right, _ = self.rows()
        turned = [not one for one in right]
        many = [*rows * 9, *rows], [*right * 9, *turned], ["a"] * 3600 + ["b"] * 400
        model = fit_model(*many, names=("telling", "noise", "constant"))
        assert abs(dict(zip(model.names, model.weights, strict=True))["telling"]) < 0.1

    def test_it_needs_right_and_wrong_answers(self) -> None:
        with pytest.raises(UserError, match="right answers and wrong ones"):
            fit_model([{"a": 1.0}], [True], ["g"], names=("a",))

    def test_an_unknown_feature_counts_as_its_mean(self) -> None:
        model = fit_model(*self.rows(), names=("telling", "noise", "constant"))
        assert model({}) == model(dict(zip(model.names, model.means, strict=True)))


def test_without_a_proof_the_confidence_is_unknown(bundled: KnowledgeBase) -> None:
    program = KERAG(Sources.of(bundled))
    found = program.sure_enough(MONGOLIA, Outcome("Ulaanbaatar"), Trace())
    assert (found.confidence, found.verdict) == (None, "unsupported")


def test_a_program_abstains_below_its_threshold_and_says_so(bundled: KnowledgeBase) -> None:
    sources = Sources.of(bundled)
    free = ask(KERAG(sources, hops=1), MONGOLIA)
    assert free.confidence is not None
    given = ask(make_program(KERAG, sources, {"hops": 1, "abstain_below": free.confidence}), MONGOLIA)
    assert (given.answer, given.abstained) == (free.answer, False), "at the threshold it answers"
    strict = ask(make_program(KERAG, sources, {"hops": 1, "abstain_below": free.confidence + 0.01}), MONGOLIA)
    assert (strict.answer, strict.evidence, strict.reason) == ("", [], "low_confidence")
    assert strict.confidence == free.confidence and strict.retrieved == free.retrieved
    assert isinstance(strict.steps[-1], Stopped) and "fitted" in strict.steps[-1].detail


class TestVerdicts:
    def test_a_proved_answer_is_given_at_every_bar(self, bundled: KnowledgeBase) -> None:
        result = ask(KERAG(Sources.of(bundled), verdict="proved"), MONGOLIA)
        assert (result.answer, result.verdict, result.doubts) == ("Ulaanbaatar", "proved", [])

    def test_an_answer_below_the_bar_is_withheld_and_the_nearest_facts_are_shown(self, bundled: KnowledgeBase) -> None:
        sources, question = Sources.of(bundled), "What was the capital of Mongolia before 1990?"
        free = ask(KERAG(sources), question)
        assert (free.answer, free.verdict) == ("Ulaanbaatar", "supported")
        assert any("before 1990" in doubt for doubt in free.doubts)
        held = ask(KERAG(sources, verdict="proved"), question)
        assert (held.answer, held.abstained, held.reason, held.verdict) == ("", True, "not_in_graph", "unknown")
        assert held.evidence == [] and any(row["relation_label"] == "capital" for row in held.nearest)
        assert ask(KERAG(sources, verdict="supported"), question).answer == "Ulaanbaatar"

    def test_an_unknown_bar_is_rejected(self, bundled: KnowledgeBase) -> None:
        with pytest.raises(UserError, match="option 'verdict'"):
            KERAG(Sources.of(bundled), verdict="certain")


@pytest.mark.parametrize("below", [-0.1, "often", True, float("nan")])
def test_an_invalid_confidence_is_rejected(below: object, bundled: KnowledgeBase) -> None:
    with pytest.raises(UserError, match="abstain_below cannot be"):
        make_program(KERAG, Sources.of(bundled), {"abstain_below": below})
    assert make_program(KERAG, Sources.of(bundled), {"abstain_below": "none"}).abstain_below is None


# --- `ideal_hop`: how likely the trained ranker finds the path of a proof
GABON = [("Gabon", "shares border with", "Cameroon"), ("Cameroon", "capital", "Yaoundé"), ("Gabon", "anthem", "Hymn")]


@pytest.fixture(scope="module")
def gabon() -> KnowledgeBase:
    return KnowledgeBase.from_triples(GABON)


def ideal_of(base: KnowledgeBase, question: str, evidence: list[tuple[str, str, str]]) -> float:
    graph = base.graph
    node = {label: base.linker.candidates(label)[0].node for row in GABON for label in (row[0], row[2])}
    relation = {graph.relation(number).label: number for number in range(graph.num_relations)}
    edges = tuple((node[head], relation[name], node[tail]) for head, name, tail in evidence)
    linked = Linked("Gabon", [{"id": graph.node_id(node["Gabon"]), "score": 1.0}], [graph.node_id(node["Gabon"])])
    outcome = Outcome(evidence[-1][2], (edges[-1][2],), edges, grounded=True)
    proof = Proof(graph, load_encoder().encode, question, outcome, [linked])
    found = ideal_hop(proof, load_ranker(), base.relation_vectors)
    assert found is not None
    return found


def test_a_path_of_the_relation_that_is_asked_for_is_ideal(gabon: KnowledgeBase) -> None:
    assert ideal_of(gabon, "What is the anthem of Gabon?", GABON[2:]) > -1


def test_a_path_of_another_relation_falls_behind_what_the_graph_lacks(gabon: KnowledgeBase) -> None:
    assert ideal_of(gabon, "Who is the head of government of Gabon?", GABON[2:]) < -2


def test_without_a_topic_there_is_no_path(gabon: KnowledgeBase) -> None:
    proof = Proof(gabon.graph, load_encoder().encode, "What is there?", Outcome(), [])
    assert ideal_hop(proof, load_ranker(), None) is None


def test_the_stored_vectors_are_those_of_the_default_encoder() -> None:
    with safe_open(COMMON, "numpy") as file:
        about, vectors = file.metadata(), file.get_tensor("vectors")
    texts = json.loads(about["texts"])
    assert about["encoder"] == load_encoder().fingerprint and len(texts) == len(vectors)
    assert np.abs(load_encoder().encode(texts[:5]) - vectors[:5]).max() < 1e-2
