"""Triple patterns as models write them can be read back, whatever the names are."""

from __future__ import annotations

import pytest

from triplecheck.kg import Name, Pattern, Variable
from triplecheck.kg.patterns import SchemaNames
from triplecheck.lms import TolerantAdapter
from triplecheck.programs.fourstepfocus.rerank import CandidateScore, read_verdicts
from triplecheck.programs.triplets import read_triplets, write_triplet
from triplecheck.signatures import TripletsFromQuery


@pytest.fixture(scope="module")
def schema(world) -> SchemaNames:  # type: ignore[no-untyped-def]
    return SchemaNames(world.graph)


class TestRoundTrip:
    @pytest.mark.parametrize(
        "name",
        ["O'Hara's \"Wake\"", "Me, Myself → I", "a | b", "AC/DC: Live", "?x", "{curly}", "[1] list", "back\\slash"],
    )
    def test_names_survive_the_adapter_too(self, name: str, schema: SchemaNames) -> None:
        wanted = Pattern(Name(name), "bornIn", Variable("x"))
        adapter = TolerantAdapter()
        outputs = {"triplets": [write_triplet(wanted)], "answer": "?x"}
        reply = adapter.format_assistant_message_content(TripletsFromQuery, outputs)
        parsed = adapter.parse(TripletsFromQuery, reply)
        assert read_triplets(parsed["triplets"], parsed["answer"], schema).patterns == (wanted,)


class TestReading:
    def test_the_type_of_a_variable_may_be_written_on_any_line(self, schema: SchemaNames) -> None:
        read = read_triplets(["?x <born in> ?y", "?x a <Composer>", "?x <instrument> <piano>"], "?x", schema)
        assert read.patterns[0].head == Variable("x", "Composer")
        assert read.target == "x"

    def test_a_relation_may_be_copied_with_alias_and_types(self, schema: SchemaNames) -> None:
        lines = ["?x <student of / teacher: Composer to Composer> <a>", "?x <born in: Composer to City> <b>"]
        read = read_triplets(lines, "?x", schema)
        assert all(schema.relations(str(pattern.relation)) for pattern in read.patterns)

    def test_other_lines_are_dropped_and_returned(self, schema: SchemaNames) -> None:
        read = read_triplets(["a | b | c", "?x <born in> ?y"], "?x", schema)
        assert len(read.patterns) == 1
        assert [dropped.pattern for dropped in read.dropped] == ["a | b | c"]

    def test_any_relation(self, schema: SchemaNames) -> None:
        (pattern,) = read_triplets(["?x ?r <b>"], "?x", schema).patterns
        assert pattern.relation == Variable("*")


class TestVerdicts:
    @pytest.mark.parametrize(
        "line",
        [
            "2: 0.8 why",
            "2. 0.8 - why",
            "[2] 0.8 (why)",
            "2) 0.8, why",
            "2 = 0.8 why",
            "Candidate 2: 0.8 why",
            "2 - 0.8: why",
        ],
    )
    def test_a_number_and_a_score_are_read_in_any_notation(self, line: str) -> None:
        assert read_verdicts([line], 3) == {2: CandidateScore(0.8, "why")}

    def test_scores_without_numbers_are_assigned_in_order_if_there_is_one_for_each(self) -> None:
        assert read_verdicts(["0.9 a", "0 b", "1"], 3) == {
            1: CandidateScore(0.9, "a"),
            2: CandidateScore(0.0, "b"),
            3: CandidateScore(1.0),
        }
        assert read_verdicts(["0.9 a", "0 b"], 3) == {}

    def test_the_first_of_two_scores_counts(self) -> None:
        assert read_verdicts(["1: 0.2", "1: 0.9", "nothing"], 1) == {1: CandidateScore(0.2)}
