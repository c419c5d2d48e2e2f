"""The bundled knowledge base and its questions keep the promises of their README."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pyoxigraph as ox
import pytest

DATA = Path(__file__).parents[2] / "kg" / "bundled"
ENTITY = "http://triplecheck.example/entity/"
RELATION = "http://triplecheck.example/relation/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
LABEL = RDFS + "label"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"
DESCRIPTION = "http://schema.org/description"
XSD = "http://www.w3.org/2001/XMLSchema#"
SYMMETRIC = ("borders", "spouse", "sibling")
KINDS = {
    *("one_hop", "two_hop", "conjunction", "comparison", "count"),
    *("superlative", "misspelt", "alias", "homonym", "unanswerable"),
}


@pytest.fixture(scope="module")
def store():
    store = ox.Store()
    for path in sorted(DATA.glob("*.ttl")):
        store.bulk_load(path=str(path), format=ox.RdfFormat.TURTLE)
    return store


@pytest.fixture(scope="module")
def facts(store):
    """subject -> predicate -> list of objects, over the whole store."""
    found = defaultdict(lambda: defaultdict(list))
    for quad in store:
        found[quad.subject.value][quad.predicate.value].append(quad.object)
    return found


@pytest.fixture(scope="module")
def edges(store):
    return [q for q in store if q.predicate.value.startswith(RELATION)]


@pytest.fixture(scope="module")
def entities(facts):
    return [subject for subject in facts if subject.startswith(ENTITY)]


@pytest.fixture(scope="module")
def questions():
    files = {split: DATA / f"questions_{split}.jsonl" for split in ("train", "dev", "test")}
    return {
        split: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for split, file in files.items()
    }


@pytest.fixture(scope="module")
def every_question(questions):
    return [question for split in questions.values() for question in split]


def superclasses(facts, name):
    parents = (parent.value for parent in facts[name][RDFS + "subClassOf"])
    return {name}.union(*(superclasses(facts, parent) for parent in parents))


def test_it_is_large_enough(edges, entities):
    assert len(edges) >= 2000
    assert len(entities) >= 500
    assert len({edge.predicate for edge in edges}) >= 40


def test_each_entity_has_one_label_a_type_and_a_description(facts, entities):
    for entity in entities:
        assert len(facts[entity][LABEL]) == 1, entity
        assert "(" not in facts[entity][LABEL][0].value, entity
        assert facts[entity][RDF_TYPE], entity
        assert len(facts[entity][DESCRIPTION]) == 1, entity


def test_each_class_and_each_relation_in_use_is_described(facts, entities, edges):
    for kind in {kind.value for entity in entities for kind in facts[entity][RDF_TYPE]}:
        assert facts[kind][LABEL], kind
    for relation in {edge.predicate.value for edge in edges}:
        for needed in (LABEL, RDFS + "domain", RDFS + "range"):
            assert len(facts[relation][needed]) == 1, (relation, needed)


def test_each_edge_fits_its_domain_and_range(facts, edges):
    def classes(entity):
        return {up for kind in facts[entity][RDF_TYPE] for up in superclasses(facts, kind.value)}

    for edge in edges:
        relation = facts[edge.predicate.value]
        assert relation[RDFS + "domain"][0].value in classes(edge.subject.value), edge
        wanted = relation[RDFS + "range"][0].value
        if wanted.startswith(XSD):
            assert isinstance(edge.object, ox.Literal), edge
            assert edge.object.datatype.value == wanted, edge
        else:
            assert edge.object.value in facts, edge
            assert wanted in classes(edge.object.value), edge


def test_each_entity_takes_part_in_an_edge(edges, entities):
    used = {edge.subject.value for edge in edges} | {edge.object.value for edge in edges}
    assert not set(entities) - used


def test_symmetric_relations_are_stated_both_ways(edges):
    stated = {(edge.subject.value, edge.predicate.value, edge.object.value) for edge in edges}
    for head, relation, tail in stated:
        if relation.removeprefix(RELATION) in SYMMETRIC:
            assert (tail, relation, head) in stated, (head, relation, tail)


def test_names_are_shared_on_purpose(facts, entities):
    named = defaultdict(set)
    for entity in entities:
        for name in facts[entity][LABEL] + facts[entity][ALT_LABEL]:
            named[name.value].add(entity)
    assert len(named["Michael Jordan"]) == 2
    assert len([name for name, sharing in named.items() if len(sharing) > 1]) >= 13


def test_the_worked_example_is_there(facts):
    teachers = [o.value for o in facts[ENTITY + "Bernhard_Heiden"][RELATION + "studentOf"]]
    assert teachers == [ENTITY + "Paul_Hindemith"]
    assert [o.value for o in facts[teachers[0]][RELATION + "nationality"]] == [ENTITY + "German"]


def test_each_query_yields_exactly_the_gold_answers(store, facts, every_question):
    for question in every_question:
        result = store.query(question["sparql"])
        is_yes_no = isinstance(result, ox.QueryBoolean)
        yes_no = {"yes" if result else "no"} if is_yes_no else None
        answers = yes_no or {row["answer"].value for row in result}
        assert answers == set(question["answers"]), question["id"]
        assert len(question["answers"]) == len(answers) == len(question["answer_labels"])
        for answer, label in zip(question["answers"], question["answer_labels"], strict=True):
            assert label == (facts[answer][LABEL][0].value if answer in facts else answer)
        assert bool(answers) == (question["kind"] != "unanswerable"), question["id"]


def test_each_topic_is_an_entity(entities, every_question):
    known = set(entities)
    for question in every_question:
        assert set(question["topic"]) <= known, question["id"]
        assert question["topic"] or question["kind"] == "unanswerable", question["id"]


def test_each_kind_is_in_each_split(questions, every_question):
    assert len(every_question) >= 240
    for split in questions.values():
        assert {question["kind"] for question in split} == KINDS


def test_no_id_or_question_text_is_used_twice(every_question):
    for field in ("id", "question"):
        counts = Counter(question[field].casefold() for question in every_question)
        assert counts.most_common(1)[0][1] == 1, counts.most_common(1)
