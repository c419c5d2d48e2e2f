"""The assist `matched_words`: a model says what words mean that no name of the graph has; the rules do the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_stand_ins import scripted_model
from program_parts import build_turtle, conclude_with, fields, keep, steps, topics

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Roles, session
from triplecheck.lms.engines import messages_of
from triplecheck.lms.prompt import Prompt, read_request
from triplecheck.programs import KERAG, AnchorRAG, Cascade, Program, Sources
from triplecheck.programs.assists.matched_words import TRUST
from triplecheck.programs.steps import Answered, Asked, Assisted, Wrote

FIDDLES = "Which fiddles were crafted by Lena Roth?"
MEANT = ("fiddles = violin", "crafted = made by")


def asked(program: Program, question: str, *meanings: str) -> tuple[Any, list[Prompt]]:
    """The answer of the rules with a model that gives these meanings, and the prompts that it got."""
    reply = fields(meanings="\n".join(meanings) or "none")
    with scripted_model([reply]) as engine, session(Roles("extractive", link=engine.name)):
        result = program(question=question)
    prompts = [read_request([(one["role"], one["content"]) for one in messages_of(r)]) for r in engine.requests]
    return result, prompts


def labels(result: Any) -> list[str]:
    return sorted(answer["label"] for answer in result.answers)


class TestAnswers:
    def test_the_rules_answer_with_the_names_that_the_model_gives(self, violins: KnowledgeBase) -> None:
        alone, _ = asked(KERAG(violins, assist="-matched_words"), FIDDLES)
        assert alone.verdict != "proved"
        result, (prompt,) = asked(KERAG(violins), FIDDLES, *MEANT)
        assert labels(result) == ["Aurora", "Borea"]
        assert prompt.items("words") == ["fiddles", "crafted"]
        assert prompt.items("classes") == ["violin", "maker", "town"]
        assert "made by: violin to maker (e.g. Lena Roth)" in prompt.items("relations")

    def test_the_word_of_a_model_is_no_proof(self, violins: KnowledgeBase) -> None:
        result, _ = asked(KERAG(violins), FIDDLES, *MEANT)
        assert result.verdict == "supported"
        assert "a model says that 'fiddles' means 'violin'" in result.doubts
        assert "a model says that 'crafted' means 'made by'" in result.doubts
        (note,) = [one for one in steps(result, Assisted) if one.name == "matched_words"]
        assert note.after == ["fiddles = violin", "crafted = made by"]

    def test_the_query_has_the_names_of_the_graph(self, violins: KnowledgeBase) -> None:
        result, _ = asked(KERAG(violins), "How many fiddles are there?", "fiddles = violin")
        assert result.answer == "4"
        assert "<violin>" in result.query
        assert "fiddle" not in result.query.replace("?fiddle", "")
        assert all(one["label"] != "fiddles" for one in result.answers)

    def test_other_programs_do_so_too(self, violins: KnowledgeBase) -> None:
        result, _ = asked(AnchorRAG(violins), FIDDLES, *MEANT)
        assert labels(result) == ["Aurora", "Borea"]
        assert result.verdict == "supported"


class TestMeanings:
    @pytest.mark.parametrize(
        "meanings",
        [
            (),
            ("fiddles = none", "crafted = none"),
            ("fiddles = cello", "crafted = commissioned by"),
            ("violas = violin",),
            ("fiddles", "violin"),
        ],
        ids=["nothing", "none", "no names of the graph", "a word that was not asked about", "no meanings"],
    )
    def test_what_says_nothing_changes_nothing(self, violins: KnowledgeBase, meanings: tuple[str, ...]) -> None:
        alone, _ = asked(KERAG(violins, assist="-matched_words"), FIDDLES)
        result, _ = asked(KERAG(violins), FIDDLES, *meanings)
        assert (result.answer, result.verdict, result.doubts) == (alone.answer, alone.verdict, alone.doubts)
        assert not [one for one in steps(result, Assisted) if one.name == "matched_words"]

    def test_a_name_that_is_unlike_the_word_is_not_believed(self, violins: KnowledgeBase) -> None:
        result, (prompt,) = asked(KERAG(violins), "What is the postcode of Otto Krag?", "postcode = made by")
        assert prompt.items("words") == ["postcode"]
        assert not [one for one in steps(result, Assisted) if one.name == "matched_words"]

    def test_a_name_may_be_written_in_brackets_and_with_what_stands_behind_it(self, violins: KnowledgeBase) -> None:
        written = ("fiddles = <violin>", "crafted = made by: violin to maker (e.g. Lena Roth)")
        result, _ = asked(KERAG(violins), FIDDLES, *written)
        assert labels(result) == ["Aurora", "Borea"]

    def test_an_answer_that_does_not_rest_on_the_relation_is_not_given(self, violins: KnowledgeBase) -> None:
        result, _ = asked(KERAG(violins), FIDDLES, "fiddles = violin", "crafted = built")
        assert "a model says that 'crafted' means 'built'" not in result.doubts
        assert not [one for one in steps(result, Assisted) if one.name == "matched_words"]

    def test_of_two_words_for_a_class_the_first_counts(self, violins: KnowledgeBase) -> None:
        result, _ = asked(
            KERAG(violins), "How many fiddles are instruments?", "fiddles = violin", "instruments = violin"
        )
        said = [text for text in result.doubts if text.startswith("a model says")]
        assert said in ([], ["a model says that 'fiddles' means 'violin'"])

    def test_all_relations_of_a_name_are_meant(self, tmp_path: Path) -> None:
        turtle = """
        :a a :boat ; rdfs:label "Heron" ; :crew1 :ann . :b a :yard ; rdfs:label "Quay Yard" ; :crew2 :bob .
        :ann rdfs:label "Ann Orr" . :bob rdfs:label "Bob Lind" .
        :crew1 rdfs:label "crew" . :crew2 rdfs:label "crew" .
        """
        base = build_turtle(turtle, tmp_path, encoder="all-MiniLM-L6-v2")
        for name, who in (("Heron", "Ann Orr"), ("Quay Yard", "Bob Lind")):
            result, _ = asked(KERAG(base), f"Who are the sailors of {name}?", "sailors = crew")
            assert labels(result) == [who]

    def test_a_word_may_be_copied_with_capitals_and_without_spaces(self, violins: KnowledgeBase) -> None:
        result, _ = asked(KERAG(violins), FIDDLES, "Fiddles=violin", "CRAFTED = made by")
        assert labels(result) == ["Aurora", "Borea"]


class TestBar:
    def test_what_is_not_proved_is_withheld_where_only_proofs_are_wanted(self, violins: KnowledgeBase) -> None:
        result, prompts = asked(KERAG(violins, verdict="proved"), FIDDLES, *MEANT)
        assert (result.abstained, prompts) == (True, [])

    def test_the_lower_confidence_is_compared_with_the_threshold(self, violins: KnowledgeBase) -> None:
        given, _ = asked(KERAG(violins), FIDDLES, *MEANT)
        program = KERAG(violins)
        program.abstain_below = given.confidence + 0.01
        assert TRUST < 0.9 and given.confidence < 0.9
        result, _ = asked(program, FIDDLES, *MEANT)
        assert (result.abstained, result.reason) == (True, "low_confidence")
        program.abstain_below = given.confidence - 0.01
        assert labels(asked(program, FIDDLES, *MEANT)[0]) == ["Aurora", "Borea"]

    def test_the_trace_has_one_answer(self, violins: KnowledgeBase) -> None:
        result, _ = asked(KERAG(violins), FIDDLES, *MEANT)
        assert [(one.answer, one.verdict) for one in steps(result, Answered)] == [(result.answer, "supported")]


class TestCascades:
    def test_the_rules_of_a_cascade_ask_the_model_of_the_session(self, violins: KnowledgeBase) -> None:
        kerag = KERAG(violins, hops=1, assist="matched_words")
        answer = conclude_with("Aurora", "Borea", cite=["made by"])
        replies = [fields(meanings="\n".join(MEANT)), topics("Lena Roth"), keep("made by"), answer]
        with scripted_model(replies) as engine, session(engine.name):
            result = Cascade([(KERAG(violins), "extractive"), kerag])(question=FIDDLES)
        first, second = steps(result, Asked)
        assert first.models == {"default": "extractive", "link": engine.name}
        assert second.models == {"default": engine.name}
        assert labels(result) == ["Aurora", "Borea"]

    def test_a_model_of_its_own_for_the_role_is_kept(self, violins: KnowledgeBase) -> None:
        kerag = KERAG(violins)
        with scripted_model([fields(meanings="\n".join(MEANT))]) as engine, session("extractive"):
            first = Roles("extractive", link=engine.name)
            result = Cascade([(kerag, first), kerag])(question=FIDDLES)
        assert labels(result) == ["Aurora", "Borea"]


class TestCalls:
    def test_talk_beside_the_question_is_not_asked_about(self, violins: KnowledgeBase) -> None:
        _, (prompt,) = asked(KERAG(violins), f"I am doing a school project. {FIDDLES}", *MEANT)
        assert prompt.items("words") == ["fiddles", "crafted"]

    def test_a_model_that_does_other_steps_is_not_asked(self, violins: KnowledgeBase) -> None:
        replies = [conclude_with("Aurora", cite=["made by"])]
        with scripted_model(replies) as engine, session(Roles("extractive", link=engine.name, answer=engine.name)):
            result = KERAG(violins)(question="Which fiddle was crafted by Lena Roth?")
        assert "MatchWords" not in [one.signature for one in steps(result, Wrote)]

    def test_a_proved_answer_is_not_asked_about(self, violins: KnowledgeBase) -> None:
        result, prompts = asked(KERAG(violins), "Which violins were made by Lena Roth?")
        assert (result.verdict, prompts) == ("proved", [])

    def test_names_and_words_of_the_graph_are_not_asked_about(self, violins: KnowledgeBase) -> None:
        _, (prompt,) = asked(KERAG(violins), "In which year did the Millby fiddles of Lena Roth get built?")
        assert prompt.items("words") == ["fiddles"]

    def test_nouns_are_asked_about_with_those_that_say_of_which_kind_they_are(self, violins: KnowledgeBase) -> None:
        _, (prompt,) = asked(KERAG(violins), "What is the phone number of Otto Krag?")
        assert prompt.items("words") == ["phone number"]

    def test_one_model_for_all_steps_is_not_asked(self, violins: KnowledgeBase) -> None:
        with session("extractive"):
            result = KERAG(violins)(question=FIDDLES)
        assert "MatchWords" not in [one.signature for one in steps(result, Wrote)]

    def test_no_call_without_the_assist(self, violins: KnowledgeBase) -> None:
        _, prompts = asked(KERAG(violins, assist="-matched_words"), FIDDLES)
        assert prompts == []


class TestNames:
    def test_a_graph_has_other_names_and_the_same_edges(self, violins: KnowledgeBase) -> None:
        graph = Sources.of(violins).graph
        made = next(n for n in range(graph.num_relations) if graph.relation(n).label == "made by")
        violin = next(id for id in graph.type_ids if graph.type_label(id) == "violin")
        other = graph.with_names({made: ["crafted"]}, {violin: "fiddle"})  # type: ignore[attr-defined]
        assert other.relation(made).aliases == ("crafted", "workshop of")
        assert other.type_label(violin) == "fiddle"
        assert graph.relation(made).aliases == ("workshop of",)
        assert graph.type_label(violin) == "violin"
        assert list(other.nodes_of_type(violin)) == list(graph.nodes_of_type(violin))

    def test_vectors_follow_the_names(self, violins: KnowledgeBase) -> None:
        sources = Sources.of(violins)
        assert sources.relations is not None
        graph, before = sources.graph, sources.relations
        made = next(n for n in range(graph.num_relations) if graph.relation(n).label == "made by")
        after = before.named({made: ["crafted"]})
        assert before.named({}) is before
        assert after.nearest_wordings("crafted")[made] == 1
        assert after.nearest_wordings("workshop of")[made] == 2
        assert after.against("crafted")[made] == pytest.approx(1, abs=1e-3)
        others = [n for n in range(graph.num_relations) if n != made]
        assert after.against("price")[others] == pytest.approx(before.against("price")[others])
