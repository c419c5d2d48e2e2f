from __future__ import annotations

from pathlib import Path

import dspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triplecheck.evals.gold import comparable, linker_names, resolve_gold, resolve_predicted, spellings
from triplecheck.evals.metrics.answers import hits_at_1, set_scores
from triplecheck.evals.questions import Question
from triplecheck.kg import KnowledgeBase, build
from triplecheck.kg.readers import ReadOptions, read_graph


def _answered(answer: str = "", ids: tuple[str, ...] = (), labels: tuple[str, ...] = ()) -> dspy.Prediction:
    answers = [{"id": id, "label": label} for id, label in zip(ids, labels or ids, strict=True)]
    return dspy.Prediction(answer=answer, answers=answers, abstained=False)


def _scores(kb: KnowledgeBase, question: Question, prediction: dspy.Prediction) -> tuple[float, float]:
    gold = resolve_gold(question, kb.graph, linker_names(kb.linker))
    predicted = resolve_predicted(prediction, kb.graph)
    return hits_at_1(predicted, gold.answers), set_scores(predicted, gold.answers).f1


def _asks(*answers: str, **more: object) -> Question:
    return Question("q", "?", answers, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("gold", ["Q90", "Paris", "PARIS", "city of light"])
def test_a_gold_string_is_an_id_a_label_or_an_alias(knowledge_base: KnowledgeBase, gold: str) -> None:
    assert _scores(knowledge_base, _asks(gold), _answered("Paris", ("Q90",), ("Paris",))) == (1, 1)


@pytest.mark.parametrize("gold", ["Par", "Paris France", "Q9", "Q900"])
def test_a_part_of_a_name_is_not_the_name(knowledge_base: KnowledgeBase, gold: str) -> None:
    assert _scores(knowledge_base, _asks(gold), _answered("Paris", ("Q90",), ("Paris",))) == (0, 0)


def test_an_id_means_one_entity_and_a_name_all_of_that_name(knowledge_base: KnowledgeBase) -> None:
    other_paris = _answered("Paris", ("Q16554",), ("Paris",))
    assert _scores(knowledge_base, _asks("Q90"), other_paris) == (0, 0)
    assert _scores(knowledge_base, _asks("Q90", answer_labels=("Paris",)), other_paris) == (0, 0)
    assert _scores(knowledge_base, _asks("Paris"), other_paris) == (1, 1)


def test_a_text_answer_matches_whole_labels_and_aliases(knowledge_base: KnowledgeBase) -> None:
    assert _scores(knowledge_base, _asks("Q183"), _answered("deutschland")) == (1, 1)
    assert _scores(knowledge_base, _asks("Q183"), _answered("Germany, I think")) == (0, 0)
    assert _scores(knowledge_base, _asks("Q183"), _answered("")) == (0, 0)


def test_strings_of_one_node_are_one_answer(knowledge_base: KnowledgeBase) -> None:
    spellings = _asks("Schweiz", "Switzerland", "Suisse", "Helvetia")
    assert _scores(knowledge_base, spellings, _answered("Switzerland", ("Q39",), ("Switzerland",))) == (1, 1)
    assert _scores(knowledge_base, spellings, _answered("Helvetia")) == (1, 1)
    both = _asks("Switzerland", "Suisse", "Germany")
    hits, f1 = _scores(knowledge_base, both, _answered("Switzerland", ("Q39",), ("Switzerland",)))
    assert hits == 1
    assert f1 == pytest.approx(2 / 3)


def test_a_data_set_can_say_that_its_answers_are_one(knowledge_base: KnowledgeBase) -> None:
    one = _asks("Germany", "Switzerland", one_answer=True)
    assert _scores(knowledge_base, one, _answered("Switzerland", ("Q39",), ("Switzerland",))) == (1, 1)


def test_texts_that_name_no_node_are_answers_of_their_own(knowledge_base: KnowledgeBase) -> None:
    assert _scores(knowledge_base, _asks("yes"), _answered("Yes.")) == (1, 1)
    hits, f1 = _scores(knowledge_base, _asks("seven", "eight"), _answered("eight"))
    assert hits == 1
    assert f1 == pytest.approx(2 / 3)


def test_a_computed_answer_is_no_node(knowledge_base: KnowledgeBase) -> None:
    gold = resolve_gold(_asks("2100000", computed=True), knowledge_base.graph, linker_names(knowledge_base.linker))
    assert gold.answers[0].nodes == frozenset()
    assert _scores(knowledge_base, _asks("2,100,000", computed=True), _answered("2100000")) == (1, 1)


def test_an_id_of_another_graph_is_found_by_its_label(knowledge_base: KnowledgeBase) -> None:
    question = _asks("/m/0345h", "/m/05qhw", answer_labels=("Germany", "Austria"))
    assert _scores(knowledge_base, question, _answered("Germany", ("Q183",), ("Germany",))) == (1, 1)


@pytest.mark.parametrize("gold", ["2100000", "2,100,000", "2100000.0", "2.1e6"])
def test_numbers_compare_by_value(knowledge_base: KnowledgeBase, gold: str) -> None:
    assert _scores(knowledge_base, _asks(gold), _answered("2100000", ("2100000",))) == (1, 1)
    assert _scores(knowledge_base, _asks(gold), _answered("2100000.00")) == (1, 1)
    assert _scores(knowledge_base, _asks(gold), _answered("2100001")) == (0, 0)


def test_a_gold_number_may_leave_the_unit_of_a_value_out(knowledge_base: KnowledgeBase) -> None:
    asked = _asks("12.5", computed=True)
    assert _scores(knowledge_base, asked, _answered("€12.50")) == (1, 1)
    assert _scores(knowledge_base, asked, _answered("12.5 km", ("12.5 km",))) == (1, 1)
    assert _scores(knowledge_base, asked, _answered("12500 km")) == (0, 0)
    assert _scores(knowledge_base, _asks("€12.50", computed=True), _answered("12.5")) == (0, 0)


def test_a_typed_value_and_its_lexical_form(tmp_path: Path) -> None:
    path = tmp_path / "triples.csv"
    path.write_text(
        "head,relation,tail,datatype\n"
        "a,size,3.0,http://www.w3.org/2001/XMLSchema#decimal\n"
        "a,named,b,http://www.w3.org/2001/XMLSchema#string\n"
        "a,knows,b,\n"
    )
    mapping = {"head": "head", "relation": "relation", "tail": "tail", "datatype": "datatype"}
    kb = build(read_graph([path], how=ReadOptions(mapping=mapping)), tmp_path / "kb", encoder=None)
    assert _scores(kb, _asks("3"), _answered("3.0", ("3.0",))) == (1, 1)
    # "b" is an entity and a string: either may be meant.
    assert _scores(kb, _asks("b"), _answered("b", ("b",))) == (1, 1)


def test_topics_are_looked_up_like_answers(knowledge_base: KnowledgeBase) -> None:
    gold = resolve_gold(
        _asks("x", topic=("Q90", "Paris", "Atlantis")), knowledge_base.graph, linker_names(knowledge_base.linker)
    )
    assert [len(nodes) for nodes in gold.topics] == [1, 2, 0]


def test_an_alias_is_its_answer_and_no_answer_of_its_own(knowledge_base: KnowledgeBase) -> None:
    question = _asks("Gallia", "Helvetia", answer_aliases=(("Frankreich", "France"), ("CH",)))
    assert _scores(knowledge_base, question, _answered("frankreich")) == (1, pytest.approx(2 / 3))
    assert _scores(knowledge_base, question, _answered("CH"))[0] == 1
    assert _scores(knowledge_base, question, _answered("Frank")) == (0, 0)
    texts = resolve_gold(question, knowledge_base.graph, linker_names(knowledge_base.linker)).texts
    assert {"Gallia", "Frankreich", "CH"} <= set(texts)


def test_an_alias_finds_the_node_that_the_answer_does_not(knowledge_base: KnowledgeBase) -> None:
    question = _asks("BRD", answer_aliases=(("Federal Republic", "Deutschland"),))
    assert _scores(knowledge_base, question, _answered("Germany", ("Q183",), ("Germany",))) == (1, 1)
    assert _scores(knowledge_base, question, _answered("Paris", ("Q90",), ("Paris",))) == (0, 0)


def test_an_id_of_wikidata_is_found_however_it_is_written(knowledge_base: KnowledgeBase) -> None:
    question = _asks("http://www.wikidata.org/entity/Q183")
    assert _scores(knowledge_base, question, _answered("Germany", ("Q183",), ("Germany",))) == (1, 1)


def test_a_topic_is_found_by_its_label_where_its_id_is_unknown(knowledge_base: KnowledgeBase) -> None:
    question = _asks("x", topic=("m.0zz", "m.0yy"), topic_labels=("Germany", ""))
    topics = resolve_gold(question, knowledge_base.graph, linker_names(knowledge_base.linker)).topics
    assert [len(nodes) for nodes in topics] == [1, 0]


@pytest.mark.parametrize("id", ["m.0d060g", "/m/0d060g", "http://rdf.freebase.com/ns/m.0d060g"])
def test_an_id_of_freebase_has_three_spellings(id: str) -> None:
    assert spellings(id)[0] == id
    assert set(spellings(id)) == {"m.0d060g", "/m/0d060g", "http://rdf.freebase.com/ns/m.0d060g"}


@pytest.mark.parametrize("text", ["m.street", "Quebec", "Q", "Q0", "m/0", "Paris", ""])
def test_other_texts_have_one(text: str) -> None:
    assert spellings(text) == (text,)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("3", "3.0", True),
        ("1,000", "1000", True),
        ("1,00", "100", False),
        ("-5", "5", False),
        ("007", "7", False),
        ("1.5", "15", False),
        ("-0", "0", True),
        ("Müller", "muller", True),
        ("12345678901234567890123456789", "12345678901234567890123456788", False),
        ("3 kg", "3000 g", True),
        ("3 kg", "3 km", False),
        ("3 kg", "3", False),
        ("July 25, 1920", "1920-07-25", True),
        (" 25 July 1920", "1920-07-25", True),
        ("July 1920", "1920-07", True),
        ("1920", "1920-07-25", False),
        ("July 1920", "1920-07-25", False),
        ("July 26, 1920", "1920-07-25", False),
        ("born on July 25, 1920", "1920-07-25", False),
        ("3/4/1900", "1900-04-03", False),
    ],
)
def test_comparable_forms(a: str, b: str, same: bool) -> None:
    assert (comparable(a) == comparable(b)) is same


@given(st.integers(-(10**20), 10**20))
def test_an_integer_has_one_form_however_it_is_written(number: int) -> None:
    assert len({comparable(form) for form in (f"{number}", f"{number:,}", f"{number}.0", f" {number} ")}) == 1
