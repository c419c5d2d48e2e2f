"""The worked examples of the steps."""

from __future__ import annotations

from typing import Any

import pytest

from triplecheck.lms.adapter import LabelAdapter, TolerantAdapter
from triplecheck.signatures import STEPS, AnswerFromFacts, Step, TripletsFromQuery, demonstrations
from triplecheck.signatures.notation import read_fact, read_known_name, read_path, read_relation
from triplecheck.signatures.query_notation import read_patterns
from triplecheck.signatures.step import NamesIn, Numbers, hint_of

EACH = [(step, row) for step in STEPS for row in demonstrations(step)]
NAMES = [f"{step.__name__}-{number}" for number, (step, _) in enumerate(EACH)]


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_some(step: type[Step]) -> None:
    assert demonstrations(step)


@pytest.mark.parametrize(("step", "row"), EACH, ids=NAMES)
class TestEach:
    def test_it_has_all_fields_and_no_others(self, step: type[Step], row: Any) -> None:
        assert set(row.keys()) == set(step.fields)

    @pytest.mark.parametrize("adapter", [TolerantAdapter(), LabelAdapter()])
    def test_its_reply_is_read_back(self, step: type[Step], row: Any, adapter: TolerantAdapter) -> None:
        reply = adapter.format_assistant_message_content(step, dict(row.labels()))
        assert adapter.parse(step, reply) == dict(row.labels())

    def test_its_numbers_are_of_items_and_its_names_are_known(self, step: type[Step], row: Any) -> None:
        for name in step.output_fields:
            match hint_of(step, name):
                case Numbers(of=items):
                    assert all(1 <= number <= len(row[items]) for number in row[name])
                case NamesIn(of=items):
                    assert set(row[name]) <= {read_known_name(line).name for line in row[items]}

    def test_its_facts_paths_and_patterns_are_in_the_notation(self, step: type[Step], row: Any) -> None:
        assert all(read_fact(fact) for fact in row.get("facts", []))
        assert all(read_path(path).hops for path in row.get("paths", []))
        assert read_patterns(row["triplets"] if step is TripletsFromQuery else [])[1] == []


@pytest.mark.parametrize("row", demonstrations(AnswerFromFacts))
def test_an_answer_is_copied_from_the_cited_facts_or_computed(row: Any) -> None:
    held = {text for number in row.cited for text in read_fact(row.facts[number - 1]).values}  # type: ignore[union-attr]
    assert set(row.answers) <= held | {"yes", "no"}
    assert not (row.answers and row.operation != "none")


@pytest.mark.parametrize("row", demonstrations(TripletsFromQuery))
def test_patterns_use_the_relations_that_are_given(row: Any) -> None:
    labels = {read_relation(line).label.split(" / ")[0] for line in row.relations}
    assert all(pattern.relation in labels for pattern in read_patterns(row.triplets)[0])
