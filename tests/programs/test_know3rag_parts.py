"""Parts of Know³-RAG: threshold, triple lines, related entities, selection of references."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_parts import WORLD, build_turtle

from triplecheck.kg import Direction, KnowledgeBase, UserError
from triplecheck.kg.documents import Document
from triplecheck.language.pipeline import read_text
from triplecheck.programs import Know3RAG, Sources
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.know3rag import near_relations, read_triples, stated_triples
from triplecheck.programs.know3rag.filter import ReferenceVerdict, choose
from triplecheck.programs.know3rag.generation import (
    Know3RAGLimits,
    clean_answer,
    linked_entities,
    names_in,
    related_entities,
)
from triplecheck.programs.know3rag.reliability import NameLinker, Supervisor, connected, supported, threshold
from triplecheck.programs.steps import Linked, Trace, Truncated

TEXTS = ["Ada met Bob in Rome.", "Cleo met Dan, a baker."]


@pytest.mark.parametrize(
    ("theta_0", "values"),
    [
        (10, (344, 1280, 1280)),
        (1, (34.4, 64, 93.6)),
        (0.1, (3.44, 3.70, 3.97)),
        (0.01, (0.344, 0.347, 0.349)),
    ],
)
def test_the_threshold_follows_the_formula(theta_0: float, values: tuple[float, ...]) -> None:
    assert [threshold(theta_0, turn) for turn in (0, 1, 2)] == pytest.approx(values, rel=0.005)


@given(st.floats(0, 1000), st.integers(0, 50))
def test_the_threshold_never_falls_and_is_always_a_number(theta_0: float, turn: int) -> None:
    now, later = threshold(theta_0, turn), threshold(theta_0, turn + 1)
    assert 0 <= now <= later < math.inf


def test_a_negative_theta_is_refused() -> None:
    with pytest.raises(UserError, match="theta_0"):
        threshold(-0.1, 0)


PAIRS = [("Ada", "Bob"), ("Cleo", "Dan"), ("Cleo", "Bob"), ("Bob", "Cleo")]
MET = {(head, tail): (head, "met", tail) for head, tail in PAIRS}


@pytest.mark.parametrize(
    ("lines", "texts", "found", "refused"),
    [
        # By the number of the text; without one of the text with both names; of one text whatever its number.
        (["2 | Cleo | met | Dan", "[1] | Ada | met | Bob"], TEXTS, [[MET["Ada", "Bob"]], [MET["Cleo", "Dan"]]], []),
        (["Cleo | met | Dan"], TEXTS, [[], [MET["Cleo", "Dan"]]], []),
        (["Cleo | met | Bob"], TEXTS, [[], []], ["Cleo | met | Bob"]),
        (["Cleo | met | Bob"], ["any"], [[MET["Cleo", "Bob"]]], []),
        (["1 | Ada | met | Bob", "2 | Bob | met | Cleo"], ["any"], [[MET["Ada", "Bob"], MET["Bob", "Cleo"]]], []),
        (["1 | Ada | met | Bob"] * 3, ["any"], [[MET["Ada", "Bob"]]], []),  # each once
        (["1 | Ada, of Rome | son of | Bertha"], ["any"], [[("Ada, of Rome", "son of", "Bertha")]], []),
        (
            ["no triples here", "7 | Ada | met | Bob", "1 | Ada | | Bob", "1 | a | b | c | d"],
            TEXTS,
            [[], []],
            ["no triples here", "7 | Ada | met | Bob", "1 | Ada | | Bob", "1 | a | b | c | d"],
        ),
    ],
)
def test_triples_are_assigned_to_texts_and_other_lines_returned(
    lines: list[str], texts: list[str], found: list[list[tuple[str, str, str]]], refused: list[str]
) -> None:
    assert read_triples(lines, texts) == (found, refused)


class TestStatedTriples:
    """A small model writes a triple for each relation that its prompt offers."""

    @pytest.mark.parametrize(
        ("text", "stated", "others"),
        [
            (
                "The place of death of Ada is Lund.",
                ["Ada | place of death | Lund"],
                ["Ada | league | Lund", "Ada | date of death | Lund"],
            ),
            ("Ada died in Lund.", ["Ada | place of death | Lund"], ["Lund | home city of | Ada"]),
            ("The elevation of K9 is 8,611 m.", ["K9 | elevation in metres | 8611"], ["K9 | highest point | 8611"]),
            ("Ada directed Drift.", ["Drift | directed by | Ada"], ["Ada | screenwriter of | Drift"]),
            ("Ada directed Drift.", ["Drift | directed by | Ada"], ["Drift | nationality | Danish", "Ada | of | Ada"]),
            ("Ada directed Drift and starred in it.", ["Drift | directed by | Ada", "Drift | starring | Ada"], []),
            ("Drift starb 1910 in Lund.", ["Drift | gestorben am | 1910", "Drift | gestorben in | Lund"], []),
            ("東京は日本の首都です。", ["日本 | 首都 | 東京"], ["東京 | 首都 | 大阪"]),
        ],
    )
    def test_what_the_text_does_not_state_is_refused(self, text: str, stated: list[str], others: list[str]) -> None:
        (found,), refused = stated_triples(stated + others, [text])
        assert [" | ".join(triple) for triple in found] == stated
        assert refused == others

    def test_the_words_of_the_text_count_more_than_the_order(self) -> None:
        lines = ["Ada | year first awarded | 1910", "Ada | date of death | 1910", "Ada | born in | 1910"]
        assert stated_triples(lines, ["Ada's date of death is 1910-04-21."])[0] == [[("Ada", "date of death", "1910")]]

    def test_an_end_may_come_from_the_other_texts_and_from_the_question(self) -> None:
        texts = ["Ada came to Lund.", "She met Bob there."]
        assert stated_triples(["2 | Ada | met | Bob"], texts)[0] == [[], [("Ada", "met", "Bob")]]
        alone = (["1 | Ada | met | Bob"], texts[1:])
        assert stated_triples(*alone)[0] == [[]]
        assert stated_triples(*alone, ["Whom did Ada meet?"])[0] == [[("Ada", "met", "Bob")]]


class TestChoice:
    @given(
        st.lists(
            st.builds(
                ReferenceVerdict, st.sampled_from([True, False, None]), st.sampled_from([0.5, 1.0, 2.0, math.inf])
            ),
            max_size=12,
        ),
        st.integers(1, 8),
    )
    def test_relevant_references_are_kept_best_first_ties_by_order(
        self, verdicts: list[ReferenceVerdict], most: int
    ) -> None:
        kept = choose(verdicts, most)
        relevant = [at for at, verdict in enumerate(verdicts) if verdict.relevant is not False]
        assert len(kept) == min(most, len(relevant)) and set(kept) <= set(relevant)
        keys = [(verdicts[at].score, at) for at in kept]
        assert keys == sorted(keys)
        left = [(verdicts[at].score, at) for at in relevant if at not in kept]
        assert not left or not keys or keys[-1] < min(left)


class TestRelatedEntities:
    def test_neighbours_are_those_of_the_relation_most_similar_to_the_query(self, sources: Sources) -> None:
        sizes = Know3RAGLimits(linked=1, local=5)
        graph = sources.graph
        for query, wanted in [
            ("Which instrument did Paul Hindemith play?", {"viola", "piano"}),
            ("Where was Paul Hindemith born?", {"Hanau"}),
        ]:
            found = related_entities(sources, query, sizes, Trace())
            assert graph.labels(found.linked) == ["Paul Hindemith"]
            assert set(graph.labels(found.local)) == wanted

    def test_without_embeddings_there_are_only_local_entities(self, sources: Sources) -> None:
        found = related_entities(sources, "Where was Paul Hindemith born?", Know3RAGLimits(), Trace())
        assert found.local and not found.predicted

    def test_predicted_entities_are_the_best_tails_without_the_head_and_listed_ones(self, embedded: Sources) -> None:
        sizes = Know3RAGLimits(linked=1, local=2, predicted=3)
        found = related_entities(embedded, "Where was Paul Hindemith born?", sizes, Trace())
        assert len(found.predicted) == 3
        assert len(set(found.nodes)) == len(found.nodes)
        base = embedded.knowledge_base
        assert base is not None and base.embeddings is not None
        (head,) = found.linked
        outgoing = [r.relation for r in embedded.graph.relations_of(head) if r.direction is Direction.OUT]
        scores = base.embeddings.scorer.all_tails(np.full(len(outgoing), head), np.array(outgoing)).max(axis=0)
        scores[[head, *found.local]] = -np.inf
        # The best of the relations compared, which are the three most similar: with as many as there are, all.
        every = Know3RAGLimits(linked=1, local=2, predicted=3, relations=len(outgoing))
        found = related_entities(embedded, "Where was Paul Hindemith born?", every, Trace())
        assert list(found.predicted) == np.argsort(-scores, kind="stable")[:3].tolist()

    def test_only_entities_with_a_vector_are_predicted(self, embedded: Sources) -> None:
        base = embedded.knowledge_base
        assert base is not None and base.embeddings is not None
        known = base.embeddings.about.num_entities
        found = related_entities(embedded, "When was Paul Hindemith born?", Know3RAGLimits(local=0), Trace())
        assert found.predicted and all(node < known for node in found.predicted)

    def test_without_linked_entities_there_are_none(self, embedded: Sources) -> None:
        assert related_entities(embedded, "What is nothing?", Know3RAGLimits(), Trace()).nodes == ()

    def test_truncation_is_recorded(self, sources: Sources) -> None:
        trace = Trace()
        related_entities(sources, "Where was Paul Hindemith born?", Know3RAGLimits(compared=1), trace)
        assert [step.what for step in trace.steps if isinstance(step, Truncated)] == ["relations of Paul Hindemith"]

    def test_links_are_recorded_and_common_words_are_not_linked(self, sources: Sources) -> None:
        trace = Trace()
        found = linked_entities(sources, "Did Lukas Foss play the piano?", 3, trace)
        assert sources.graph.labels(found)[0] == "Lukas Foss"
        assert next(step.mention for step in trace.steps if isinstance(step, Linked)) == "Lukas Foss"

    def test_entities_beyond_the_limit_are_recorded_and_the_paper_has_none(self, sources: Sources) -> None:
        query = "Did Lukas Foss, Paul Hindemith, Bernhard Heiden and Bernhard Sekles play the piano?"
        trace = Trace()
        found = linked_entities(sources, query, Know3RAGLimits().linked, trace)
        assert (len(found), sum(isinstance(step, Linked) for step in trace.steps)) == (3, 3)
        assert trace.steps[-1] == Truncated("entities of the query", 3, 4)
        limits = Know3RAG(sources, preset="paper").options.limits
        assert len(linked_entities(sources, query, limits.linked, trace)) == 4

    def test_a_name_that_the_documents_have_is_no_misspelt_name(self, tmp_path: Path) -> None:
        def linked(folder: Path, passage: str) -> list[str]:
            folder.mkdir()
            sources = Sources.of(build_turtle(WORLD, folder, documents=[Document("d", None, "", passage)]))
            return sources.graph.labels(linked_entities(sources, "Who taught Lukas Fos?", 3, Trace()))

        assert linked(tmp_path / "a", "A dancer.") == ["Lukas Foss"]
        assert linked(tmp_path / "b", "Lukas Fos was a painter.") == []


def test_part_of_a_name_is_not_the_name(tmp_path: Path) -> None:
    base: KnowledgeBase = build_turtle(WORLD, tmp_path)
    names = NameLinker(base.linker)
    assert [c.label for c in names.candidates("Paul Hindemith")] == ["Paul Hindemith"]
    assert names.candidates("Hindemith") == []


@pytest.mark.parametrize("text", ["", None, "none", "None.", "N/A", " unknown ", "[]"])
def test_empty_phrases_are_no_answer(text: str | None) -> None:
    assert clean_answer(text) == ""


@pytest.mark.parametrize("written", ["July 25, 1920", "1920"])
def test_a_value_that_the_graph_supports_is_given_as_the_graph_writes_it(written: str, bundled: KnowledgeBase) -> None:
    sources = Sources.of(bundled)
    rated = Supervisor(sources, "relative", "sum").rate([("Rosalind Franklin", "date of birth", written)], "")
    (franklin,) = linked_entities(sources, "When was Rosalind Franklin born?", 1, Trace())
    found = supported(Assists(), sources, written, rated, [franklin], Trace())
    assert (found.answer, found.grounded) == ("1920-07-25", True)
    assert sources.graph.labels(found.answers) == ["1920-07-25"]
    assert supported(Assists("none"), sources, written, rated, [franklin], Trace()).answer == written


def test_connected_follows_edges_in_both_directions() -> None:
    edges = [(1, 0, 2), (3, 0, 2), (4, 0, 5)]
    assert connected(edges, [1]) == {1, 2, 3}
    assert connected(edges, []) == set()


def test_the_bench_of_the_triple_check_reads_passages_as_the_filter_does(embedded: Sources) -> None:
    from bench.filtering import extracted, measured, passages

    base = embedded.knowledge_base
    assert base is not None
    some = passages(base, 2)
    assert [passage.true for passage in some] == [True, False] * (len(some) // 2)
    scores = extracted(base, some, "relative", "extractive")
    assert np.isfinite(scores).any()
    assert "precision" in measured(some, scores)


class TestRelationsForAPrompt:
    def test_the_named_come_first_then_the_most_similar_to_each_text(self, bundled: KnowledgeBase) -> None:
        texts = ["The seat of government of Mongolia is Ulaanbaatar.", "Heiden was a student of Paul Hindemith."]
        assert near_relations(Assists("none"), Sources.of(bundled), texts) == []
        found = near_relations(Assists(), Sources.of(bundled), texts)
        assert len(found) <= 5 and found[0] == "student of" and "capital" in found
        assert len(near_relations(Assists(), Sources.of(bundled), texts * 20, top_k=10, most=8)) <= 8

    def test_without_vectors_the_named_then_all_of_a_few(self, bundled: KnowledgeBase) -> None:
        sources = Sources(bundled.graph, bundled.linker)
        text = "Heiden was a student of Paul Hindemith."
        assert near_relations(Assists(), sources, [text], most=10) == ["student of"]
        assert near_relations(Assists(), sources, [], most=10) == []
        few = near_relations(Assists(), sources, [text], most=sources.graph.num_relations)
        labels = {sources.graph.relation(number).label for number in range(sources.graph.num_relations)}
        assert few[0] == "student of" and set(few) == labels


class TestNamesForAPrompt:
    def test_only_names_that_the_text_has_word_for_word(self, bundled: KnowledgeBase) -> None:
        text = "Bernhard Heiden was taught by Paul Hindemit."
        assert names_in(bundled.graph, bundled.linker, read_text(text)) == ["Bernhard Heiden"]
