"""A model's conclusion becomes an outcome only if the facts support it."""

from __future__ import annotations

from typing import Any, ClassVar

import dspy
import pytest
from program_parts import Build, conclude_with, fields, ids, keep, kerag, node, play, steps, topics

from triplecheck.kg import Graph, KnowledgeBase, UserError
from triplecheck.lms import Doubt
from triplecheck.programs import KERAG, Sources, replay
from triplecheck.programs.assists.doubts import reply_problem
from triplecheck.programs.steps import Answered, Checked, Computed, Stopped, Wrote

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"


def concluded(sources: Sources | KnowledgeBase, *answers: str, name: str = "Bernhard Heiden", **options: Any) -> Any:
    """KERAG over two hops without filtering, with a model that concludes this, or insists on it when it is doubted."""
    cite, operation = options.pop("cite", ()), options.pop("operation", "none")
    question = options.pop("question", "How many are there?" if operation == "count" else TEACHER)
    tries = 2 if options.pop("insists", False) else 1
    program = kerag(sources, filtering="none", **options)
    replies = [topics(name), *[conclude_with(*answers, cite=cite, operation=operation)] * tries]
    return play(program, question, *replies)[0]


def written(result: Any) -> list[str]:
    return [f"{row['head_label']} {row['relation_label']} {row['tail_label']}" for row in result.evidence]


class TestLookingUp:
    def test_an_answer_in_a_cited_fact_is_grounded_with_the_chain_from_the_topic(self, sources: Sources) -> None:
        result = concluded(sources, "German", cite=["Paul Hindemith → nationality"])
        assert (result.answer, ids(result), result.grounded, result.abstained) == ("German", ["german"], True, False)
        assert written(result) == ["Bernhard Heiden student of Paul Hindemith", "Paul Hindemith nationality German"]
        assert replay(sources.graph, result.evidence) == []

    def test_an_answer_in_another_fact_is_grounded_there(self, sources: Sources) -> None:
        result = concluded(sources, "Hanau", cite=["Paul Hindemith → nationality"])
        assert ids(result) == ["hanau"]
        assert "Paul Hindemith born in Hanau" in written(result)
        assert "Bernhard Heiden student of Paul Hindemith" in written(result)

    def test_cited_facts_are_searched_first(self, build: Build) -> None:
        base = build(":t rdfs:label 'T' ; :p :a ; :q :b . :a rdfs:label 'Same' . :b rdfs:label 'Same' .")
        for relation, id in (("p", "a"), ("q", "b")):
            assert ids(concluded(base, "Same", name="T", cite=[f"T → {relation} →"], hops=1)) == [id]

    def test_homonyms_are_disambiguated_by_the_name_in_the_prompt(self, build: Build) -> None:
        base = build(
            ":t rdfs:label 'T' ; :p :a , :b . :a a :City ; rdfs:label 'Paris' . :b a :Person ; rdfs:label 'Paris' ."
        )
        assert ids(concluded(base, "Paris (Person)", name="T", cite=["T →"])) == ["b"]
        assert ids(concluded(base, "Paris (City)", name="T", cite=["T →"])) == ["a"]
        assert len(concluded(base, "Paris (City)", "Paris (Person)", name="T").answers) == 2

    @pytest.mark.parametrize("spelling", ["paul hindemith", "PAUL HINDEMITH", "Paul-Hindemith.", "Paul Hindemith"])
    def test_case_and_punctuation_are_ignored(self, sources: Sources, spelling: str) -> None:
        assert ids(concluded(sources, spelling)) == ["hindemith"]

    def test_the_exact_spelling_is_preferred(self, build: Build) -> None:
        base = build(":t rdfs:label 'T' ; :p :a , :b . :a rdfs:label 'angstrom' . :b rdfs:label 'Ångström' .")
        assert ids(concluded(base, "Ångström", name="T")) == ["b"]
        assert ids(concluded(base, "angstrom", name="T")) == ["a"]

    def test_an_answer_may_be_the_subject_of_a_fact(self, sources: Sources) -> None:
        which = "Who studied with Paul Hindemith, Bernhard Heiden or someone else?"
        result = concluded(sources, "Bernhard Heiden", cite=["Bernhard Heiden → student of"], question=which)
        assert ids(result) == ["heiden"]
        assert written(result) == ["Bernhard Heiden student of Paul Hindemith"]

    def test_one_answer_given_twice_counts_once(self, sources: Sources) -> None:
        assert ids(concluded(sources, "German", "german")) == ["german"]

    def test_literals_can_be_answers(self, sources: Sources) -> None:
        result = concluded(sources, "1910-08-24")
        assert result.answers == [{"id": "1910-08-24", "label": "1910-08-24"}]
        assert replay(sources.graph, result.evidence) == []
        assert concluded(sources, "753,056").answer == "753056"


class TestNumbers:
    @pytest.mark.parametrize("invented", ["5", "15", "-1.5", "1,5", "0.15", "44", "1944"])
    def test_similar_spellings_of_different_numbers_do_not_match(self, build: Build, invented: str) -> None:
        base = build(":t rdfs:label 'T' ; :p -5 , 1.5 , -15 ; :q '-0044'^^xsd:gYear , '1944-01-01'^^xsd:date .")
        result = concluded(base, invented, name="T")
        assert (result.answers, result.grounded, result.evidence) == ([], False, [])

    @pytest.mark.parametrize(("text", "value"), [("1,000,000", "1000000"), ("1000000.0", "1000000"), ("-5.0", "-5")])
    def test_a_number_matches_in_another_notation(self, build: Build, text: str, value: str) -> None:
        base = build(":t rdfs:label 'T' ; :p 1000000 , -5 .")
        assert concluded(base, text, name="T").answer == value


class TestOtherWords:
    """Answers that say what a cited fact says, in other words."""

    @pytest.mark.parametrize(
        "said",
        [
            "16 November 1895",
            "November 16th, 1895",
            "Nov. 16, 1895",
            "16.11.1895",
            "11/16/1895",
            "1895",
            "He was born on 16 November 1895.",
            "Paul Hindemith was born on November 16, 1895 in Hanau, 15 years before his pupil",
        ],
    )
    def test_dates(self, sources: Sources, said: str) -> None:
        result = concluded(sources, said, name="Paul Hindemith", cite=["Paul Hindemith → date of birth"])
        assert (result.answer, result.grounded) == ("1895-11-16", True)

    @pytest.mark.parametrize(
        "said", ["17 November 1895", "16 November 1985", "1896", "He was born in 1910.", "11/6/1895"]
    )
    def test_other_dates_do_not_match(self, sources: Sources, said: str) -> None:
        result = concluded(sources, said, name="Paul Hindemith", cite=["Paul Hindemith → date of birth"])
        assert (result.answers, result.grounded) == ([], False)

    def test_years_before_christ(self, build: Build) -> None:
        base = build(":t rdfs:label 'T' ; :p '-0044-03-15'^^xsd:date .")
        assert concluded(base, "15 March 44 BC", name="T", cite=["T →"]).answer == "-0044-03-15"
        assert not concluded(base, "15 March 44", name="T", cite=["T →"]).grounded

    @pytest.mark.parametrize(
        "said", ["96,492", "96 492 people", "96,492 inhabitants", "The town has 96,492 inhabitants."]
    )
    def test_numbers(self, sources: Sources, said: str) -> None:
        result = concluded(sources, said, name="Hanau", cite=["Hanau → population"])
        assert (result.answer, result.grounded) == ("96492", True)

    @pytest.mark.parametrize("said", ["96,4922", "9,6492", "The town has 96,493 inhabitants.", "964 92 x"])
    def test_other_numbers_do_not_match(self, sources: Sources, said: str) -> None:
        assert not concluded(sources, said, name="Hanau", cite=["Hanau → population"]).grounded

    def test_names_in_a_sentence(self, sources: Sources) -> None:
        cite = ["Paul Hindemith → instrument"]
        said = "Paul Hindemith was a master of the viola and of the piano."
        result = concluded(sources, said, name="Paul Hindemith", cite=cite)
        assert (set(ids(result)), result.grounded) == ({"piano", "viola"}, True)

    def test_an_alias_of_a_cited_value(self, build: Build) -> None:
        base = build(":t rdfs:label 'T' ; :p :a , :b . :a rdfs:label 'New York City' ; skos:altLabel 'NYC' .")
        assert ids(concluded(base, "nyc", name="T", cite=["T →"])) == ["a"]
        assert not concluded(base, "NYC", name="T").grounded  # the fact is not cited

    def test_an_alias_of_two_cited_values_is_no_match(self, build: Build) -> None:
        both = " ".join(f":{id} rdfs:label '{id} city' ; skos:altLabel 'Springfield' ." for id in "ab")
        assert not concluded(
            build(f":t rdfs:label 'T' ; :p :a , :b . {both}"), "Springfield", name="T", cite=["T →"]
        ).grounded

    def test_a_word_of_the_question_is_not_repeated(self, build: Build) -> None:
        base = build(":t rdfs:label 'T' ; :p :a . :a rdfs:label 'Drama film' .")
        for question, grounded in (("What genre of film is T?", True), ("What genre is T?", False)):
            assert concluded(base, "drama", name="T", cite=["T →"], question=question).grounded == grounded

    @pytest.mark.parametrize("said", ["He was not German.", "He was German-born, they say it", "He was German Swiss"])
    def test_a_denial_or_a_longer_name_is_no_match(self, sources: Sources, said: str) -> None:
        assert not concluded(sources, said, name="Paul Hindemith", cite=["→ nationality"]).grounded

    def test_a_sentence_is_compared_with_cited_facts_alone(self, sources: Sources) -> None:
        assert not concluded(sources, "He was German.", name="Paul Hindemith").grounded


class TestInvented:
    def test_an_answer_in_no_fact_is_not_grounded(self, sources: Sources) -> None:
        result = concluded(sources, "Austrian", cite=["Paul Hindemith → nationality"])
        assert (result.answer, result.grounded, result.answers, result.evidence) == ("Austrian", False, [], [])
        assert [check.passed for check in steps(result, Checked)] == [False]
        assert steps(result, Answered) == [Answered("Austrian", False, "unsupported")]

    def test_grounded_only_withholds_it(self, sources: Sources) -> None:
        result = concluded(sources, "Austrian", grounded_only=True)
        assert (result.answer, result.abstained, result.reason) == ("", True, "not_grounded")
        assert steps(result, Answered) == []
        assert [stop.reason for stop in steps(result, Stopped)] == ["not_grounded"]

    def test_it_is_dropped_if_another_answer_was_found(self, sources: Sources) -> None:
        result = concluded(sources, "German", "Austrian")
        assert (result.answer, result.grounded) == ("German", True)
        assert "Austrian" in next(check for check in steps(result, Checked) if not check.passed).reason

    @pytest.mark.parametrize("text", ["Germ", "Germany Austria", "...", "?", "→", "|", "student of"])
    def test_part_of_a_name_or_a_relation_is_not_an_answer(self, sources: Sources, text: str) -> None:
        assert not concluded(sources, text, hops=1).grounded

    def test_no_answer_is_an_abstention(self, sources: Sources) -> None:
        result = concluded(sources)
        assert (result.abstained, result.reason, result.evidence) == (True, "not_in_facts", [])

    def test_facts_cited_for_no_answer_are_asked_about_once(self, sources: Sources) -> None:
        program, nothing = kerag(sources, filtering="none"), conclude_with(cite=["Paul Hindemith → nationality"])
        first = [topics("Bernhard Heiden"), nothing]
        result, engine = play(program, TEACHER, *first, conclude_with("German", cite=["Paul Hindemith → nationality"]))
        assert result.answer == "German"
        assert "there is no answer and no operation" in engine.prompts[-1]
        assert play(program, TEACHER, *first, nothing)[0].reason == "not_in_facts"

    def test_topics_repeated_as_the_answer_are_asked_about_once(self, sources: Sources) -> None:
        program = kerag(sources, filtering="none")
        replies = [topics("Bernhard Heiden", "Lukas Foss"), conclude_with("Lukas Foss", "Bernhard Heiden")]
        which = "Who taught both Bernhard Heiden and Lukas Foss?"
        result, engine = play(program, which, *replies, conclude_with("Paul Hindemith", cite=["Paul Hindemith"]))
        assert result.answer == "Paul Hindemith"
        assert "repeats what the question names" in engine.prompts[-1]


WHETHER = "Is Paul Hindemith German?"


class TestYesAndNo:
    def test_a_yes_is_grounded_in_a_cited_fact_that_says_it(self, sources: Sources) -> None:
        result = concluded(sources, "Yes.", name="Paul Hindemith", cite=["nationality"], question=WHETHER)
        assert (result.answer, result.answers, result.grounded) == ("yes", [], True)
        assert "Paul Hindemith nationality German" in written(result)

    @pytest.mark.parametrize(
        ("question", "cite"),
        [("Is Paul Hindemith Spanish?", "nationality"), (WHETHER, "Hindemith → born in"), (WHETHER, "→ instrument")],
    )
    def test_a_yes_that_no_cited_fact_says_is_not_grounded(self, sources: Sources, question: str, cite: str) -> None:
        result = concluded(sources, "yes", name="Paul Hindemith", cite=[cite], question=question)
        assert (result.answer, result.grounded) == ("yes", False)
        assert not steps(result, Checked)[-1].passed
        withheld = concluded(sources, "yes", name="Paul Hindemith", cite=[cite], question=question, grounded_only=True)
        assert withheld.reason == "not_grounded"

    PEOPLE = " ".join(f":p{n} a :Person ; rdfs:label 'P{n}' ; :born :c{n % 2} ; :plays :c1 , :c{n} ." for n in range(6))

    def test_a_no_needs_a_relation_of_one_value_or_a_closed_world(self, build: Build) -> None:
        base = build(self.PEOPLE + ":c0 rdfs:label 'Rome' . :c1 rdfs:label 'Oslo' .")
        born = {"name": "P1", "cite": ["P1 → born"], "hops": 1}
        plays = {"name": "P1", "cite": ["P1 → plays"], "hops": 1}
        assert concluded(base, "no", question="Was P1 born in Rome?", **born).grounded
        assert not concluded(base, "no", question="Was P1 born in Oslo?", **born).grounded
        assert not concluded(base, "no", question="Does P1 play Rome?", **plays).grounded
        assert concluded(base, "no", question="Does P1 play Rome?", closed_world=True, **plays).grounded

    def test_without_a_citation_it_is_not_grounded(self, sources: Sources) -> None:
        assert not concluded(sources, "yes", question=WHETHER).grounded
        assert concluded(sources, "yes", question=WHETHER, grounded_only=True).reason == "not_grounded"

    SAID: ClassVar[dict[str, str]] = {"reasoning": "so it is", "cited": "none", "operation": "none"}

    def test_yes_to_a_question_that_asks_what_is_asked_for_again(self, sources: Sources) -> None:
        program = kerag(sources, filtering="none")
        replies = [topics("Bernhard Heiden"), conclude_with("yes", cite=["nationality"])]
        result, engine = play(program, TEACHER, *replies, fields(**self.SAID, answers="German"))
        assert (result.answer, result.grounded) == ("German", True)
        assert "not one of yes or no" in engine.prompts[-1]
        again, _ = play(program, f"In which {TEACHER}", *replies, fields(**self.SAID, answers="no"))
        assert (again.answer, again.abstained, again.reason) == ("", True, "unreadable_reply")

    @pytest.mark.parametrize(
        ("question", "topics", "operation", "answers", "doubt"),
        [
            ("Which is his instrument?", ["Ann"], "count", [], "does not ask how many"),
            ("How many did he play?", ["Ann"], "common", ["viola", "piano"], "asks for a number"),
            ("How many did he play?", ["Ann"], "none", ["2 instruments"], None),
            ("What did Ann play?", ["Ann"], "common", [], "no answer and no operation"),
            ("What did both play?", ["Ann", "Ben"], "common", [], None),
            ("Which is taller, Ann or Ben?", ["Ann", "Ben"], "min", [], "seems to ask for max"),
            ("Which is taller, Ann or Ben?", ["Ann", "Ben"], "max", [], None),
            ("Which is older, Ann or Ben?", ["Ann", "Ben"], "max", [], None),  # ages or dates of birth
            ("Which of them won?", ["Ann", "Ben"], "max", [], None),
            ("Did Ann and Ben play the same?", ["Ann", "Ben"], "none", ["viola"], "asks whether"),
            ("Did Ann and Ben play the same?", ["Ann", "Ben"], "common", [], "asks whether"),
            ("Did Ann and Ben play the same?", ["Ann", "Ben"], "same", [], None),
            ("Did Ann play the viola?", ["Ann"], "none", ["yes"], None),
            ("Did Ann play it or did Ben?", ["Ann", "Ben"], "none", ["Ann"], None),
            ("Can you say what Ann played?", ["Ann"], "none", ["viola"], None),
            ("What did Ann and Ben play?", ["Ann", "Ben"], "same", [], "not one of yes or no"),
            ("What did Ann and Ben play?", ["Ann", "Ben"], "none", ["Ben"], "repeats what the question names"),
            ("What did Ann play?", ["Ann"], "none", ["Ann"], "repeats what the question names"),
            ("Who is older, Ann or Ben?", ["Ann", "Ben"], "none", ["Ben"], None),
            ("Who taught Ann and Ben?", ["Ann", "Ben"], "none", [], "facts 3 and 4 share Cy"),
            ("Who taught Ann and Ben?", ["Ann", "Ben"], "common", [], None),
            ("Did Cy teach Ann and Ben?", ["Ann", "Ben", "Cy"], "none", [], "no answer and no operation"),
            ("When was Ann born?", ["Ann"], "none", ["Bonn"], "asks for a time"),
            ("In which year was Ann born?", ["Ann"], "none", ["Bonn"], "asks for a time"),
            ("When was Ann born?", ["Ann"], "none", ["1920"], None),
            ("Which yearbook has Ann?", ["Ann"], "none", ["Bonn"], None),
            # A model may take the word "Number" for a topic.
            ("Number of instruments?", ["Ann", "Number = Nuremberg"], "count", [], None),
        ],
    )
    def test_what_the_question_does_not_ask_for_is_doubted(
        self, question: str, topics: list[str], operation: str, answers: list[str], doubt: str | None
    ) -> None:
        reply = dspy.Prediction(reasoning="", cited=[1], operation=operation, answers=answers)
        facts = ["Ann → born in → Bonn", "Ann → died on → 1990", "Ann → student of → Cy", "Ben → student of → Cy | Di"]
        problem = reply_problem({"question": question, "topics": topics, "facts": facts}, reply)
        assert isinstance(problem, Doubt) and doubt in problem if doubt else problem is None

    def test_yes_to_a_question_that_asks_when_is_not_accepted_a_second_time_either(self) -> None:
        reply = dspy.Prediction(reasoning="", cited=[1], operation="none", answers=["yes"])
        problem = reply_problem(
            {"question": "When did Ann die?", "topics": ["Ann"], "facts": ["Ann → died → 1990"]}, reply
        )
        assert problem is not None and not isinstance(problem, Doubt)

    def test_a_time_is_asked_for_only_if_a_fact_has_one(self) -> None:
        reply = dspy.Prediction(reasoning="", cited=[1], operation="none", answers=["Bonn"])
        inputs = {"question": "When was Ann born?", "topics": ["Ann"], "facts": ["Ann → born in → Bonn"]}
        assert reply_problem(inputs, reply) is None

    def test_a_value_called_yes_or_no_is_that_value(self, build: Build) -> None:
        base = build(":t rdfs:label 'Rick Wakeman' ; :memberOf :yes . :yes rdfs:label 'Yes' .")
        which = "Which band was Rick Wakeman in?"
        assert ids(concluded(base, "Yes", name="Rick Wakeman", cite=["member of"], question=which)) == ["yes"]
        assert ids(concluded(base, "Yes", name="Rick Wakeman", cite=["member of"])) == ["yes"]
        assert concluded(base, "yes", name="Rick Wakeman", cite=["member of"], question="Is it?").answers == []


class TestComputing:
    HOW_MANY: ClassVar[dict[str, Any]] = {
        "name": "Paul Hindemith",
        "cite": ["Paul Hindemith → instrument"],
        "operation": "count",
        "question": "How many instruments did Paul Hindemith play?",
    }

    @pytest.mark.parametrize("said", [(), ("2",), ("2 instruments",)])
    def test_the_result_is_the_answer(self, sources: Sources, said: tuple[str, ...]) -> None:
        result = concluded(sources, *said, **self.HOW_MANY)
        assert (result.answer, result.grounded, result.answers) == ("2", True, [])
        assert steps(result, Computed) == [Computed("count", 2, "2")]
        assert replay(sources.graph, result.evidence) == []

    PEAKS = (
        ":r rdfs:label 'Range' . :a :partOf :r ; rdfs:label 'Ada Peak' ; :height 3 . :b :partOf :r ; "
        "rdfs:label 'Ben Peak' ; :height 5 . :c :partOf :r ; rdfs:label 'Cay Peak' ; :height 9 ; :in :x . "
        ":x rdfs:label 'Xland' . :a :in :x ."
    )

    @pytest.mark.parametrize(("asked", "insists"), [("lowest", True), ("highest", False)])
    def test_an_extreme_that_is_the_opposite_of_what_is_asked_proves_nothing(
        self, build: Build, asked: str, insists: bool
    ) -> None:
        cited = {"name": "Range", "cite": ["→ height"], "operation": "max"}
        found = concluded(build(self.PEAKS), question=f"Which peak is the {asked}?", insists=insists, **cited)
        assert ids(found) == ["c"]
        assert found.doubts == (["the operation is max, and the question seems to ask for min"] if insists else [])

    def test_nothing_is_looked_up_for_things_that_have_no_values(self, build: Build) -> None:
        base = build(":r rdfs:label 'Range' . :a :partOf :r ; rdfs:label 'Ada' ; :near :b . :b :partOf :r ; :near :a .")
        said = {"name": "Range", "cite": ["Range ← part of"], "operation": "max", "hops": 1}
        assert concluded(base, question="Which peak is the highest?", **said).reason == "not_in_facts"

    def test_facts_that_lead_back_to_the_topic_are_not_counted(self, build: Build) -> None:
        back = {"name": "Range", "cite": ["← part of ←", "→ part of → Range"], "operation": "count"}
        assert concluded(build(self.PEAKS), **back).answer == "3"

    @pytest.mark.parametrize("question", ["Which peak of Xland is the highest?", "Which of its peaks is the highest?"])
    def test_one_value_alone_proves_not_which_thing_is_extreme(self, build: Build, question: str) -> None:
        base = build(self.PEAKS + " :x :height 1 . :height rdfs:label 'height of it' .")
        said = {"name": "Xland", "cite": ["→ height"], "operation": "max", "hops": 1}
        assert concluded(base, question=question, **said).verdict == "supported"

    def test_if_the_operation_fails_the_answer_is_looked_up(self, sources: Sources) -> None:
        result = concluded(sources, "German", cite=["nationality"], operation="max")
        assert (result.answer, result.grounded) == ("German", True)
        assert steps(result, Checked)[0].what == "operation max"

    def test_an_operation_without_facts_gives_no_answer(self, sources: Sources) -> None:
        assert concluded(sources, operation="count").reason == "not_in_facts"

    def test_a_number_that_the_question_does_not_ask_for_is_not_proved(self, sources: Sources) -> None:
        asked = {"cite": ["Paul Hindemith → instrument"], "operation": "count", "insists": True}
        result = concluded(
            sources, question="Which instruments did Paul Hindemith play?", name="Paul Hindemith", **asked
        )
        assert steps(result, Computed) and result.verdict != "proved"
        assert any("'which'" in doubt.casefold() for doubt in result.doubts)

    def test_the_proof_connects_the_topic_with_the_operands(self, sources: Sources) -> None:
        result = concluded(sources, cite=["Paul Hindemith → instrument"], operation="count")
        assert written(result)[0] == "Bernhard Heiden student of Paul Hindemith"
        assert len(result.evidence) == 3


class TestBridgeFacts:
    """A model cites the facts that lead to the operands too, as its prompt asks."""

    WORLD = """
    :p rdfs:label 'Pupil' ; :teacher :t ; :town :x . :t rdfs:label 'Teacher' ; :pupil :a , :b , :p ; :height 3 .
    :o rdfs:label 'Other' ; :teacher :t , :u . :u rdfs:label 'Ulla' ; :height 1 . :p :height 9 .
    :a rdfs:label 'Ann' . :b rdfs:label 'Ben' . :x rdfs:label 'X' ; :size 4 .
    """

    @pytest.mark.parametrize(
        ("operation", "cite", "answer"),
        [
            ("count", ["Pupil → teacher", "Teacher → pupil"], "3"),
            ("sum", ["Other → teacher", "→ height → 3", "Ulla → height"], "4"),
            ("difference", ["Other → teacher", "→ height → 3", "Ulla → height"], "2"),
            ("max", ["Other → teacher", "→ height → 3", "Ulla → height"], "Teacher"),
            ("min", ["Other → teacher", "→ height → 3", "Ulla → height"], "Ulla"),
        ],
    )
    def test_operations_run_over_the_ends_of_paths(
        self, build: Build, operation: str, cite: list[str], answer: str
    ) -> None:
        name = cite[0].split(" →")[0]
        result = concluded(build(self.WORLD), name=name, cite=cite, operation=operation)
        assert (result.answer, result.grounded) == (answer, True)
        assert any(line.startswith(f"{name} teacher") for line in written(result))

    def test_common_intersects_the_ends_of_two_paths(self, build: Build) -> None:
        base = build(
            ":p rdfs:label 'P' ; :teacher :t . :q rdfs:label 'Q' ; :teacher :t , :u ."
            ":t rdfs:label 'T' ; :town :x , :y . :u rdfs:label 'U' ; :town :x . :x rdfs:label 'X' . :y rdfs:label 'Y' ."
        )
        program = kerag(base, filtering="none")
        cite = ["P → teacher", "Q → teacher", "→ town"]
        result, _ = play(program, "Which town?", topics("P", "Q"), conclude_with(cite=cite, operation="common"))
        assert ids(result) == ["x", "y"]

    def test_a_bridge_from_another_topic_is_no_operand(self, build: Build) -> None:
        program = kerag(build(self.WORLD), filtering="none", hops=1)
        cite = ["Pupil → teacher", "Teacher → pupil"]
        result, _ = play(program, "How many?", topics("Pupil", "Teacher"), conclude_with(cite=cite, operation="count"))
        assert result.answer == "3"


def connected(graph: Graph, evidence: list[dict[str, str]], topic: int, answer: str) -> bool:
    reached = {graph.node_id(topic)}
    for _ in evidence:
        for row in evidence:
            if {row["head"], row["tail"]} & reached:
                reached |= {row["head"], row["tail"]}
    return answer in reached


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_every_grounded_answer_is_connected_to_the_topic(sources: Sources, hops: int) -> None:
    graph = sources.graph
    for label in ("Paul Hindemith", "Frankfurt", "German", "Germany", "viola", "Lukas Foss", "753056"):
        result = concluded(sources, label, hops=hops)
        assert replay(graph, result.evidence) == []
        for answer in result.answers:
            assert connected(graph, result.evidence, node(graph, "heiden"), answer["id"]), label


def test_a_model_that_keeps_a_path_and_cites_it_gets_the_whole_proof(sources: Sources) -> None:
    result, _ = play(
        kerag(sources),
        TEACHER,
        topics("Bernhard Heiden", domain="Composer"),
        keep("→ student of"),
        keep("→ nationality"),
        conclude_with("German", cite=["nationality"]),
    )
    assert written(result) == ["Bernhard Heiden student of Paul Hindemith", "Paul Hindemith nationality German"]


# --- the option `samples`: a model answers several times, and the answer of most of them counts
GERMAN = conclude_with("German", cite=["Paul Hindemith → nationality"])
HANAU = conclude_with("Hanau", cite=["Paul Hindemith → born in"])
COUNTED = conclude_with(cite=["Paul Hindemith → nationality"], operation="count")


def test_the_answer_of_most_samples_counts(sources: Sources) -> None:
    found, engine = play(
        kerag(sources, filtering="none", samples=3), TEACHER, topics("Bernhard Heiden"), HANAU, GERMAN, GERMAN
    )
    assert found.answer == "German" and engine.left == 0
    assert steps(found, Checked)[-1].reason == "2 of 3 samples say 'German'"
    assert len([step for step in steps(found, Wrote) if step.signature == "AnswerFromFacts"]) == 3
    assert not any("samples" in doubt for doubt in found.doubts)


def test_an_answer_without_a_majority_is_not_proved(sources: Sources) -> None:
    found, _ = play(kerag(sources, filtering="none", samples=2), TEACHER, topics("Bernhard Heiden"), GERMAN, HANAU)
    assert found.answer == "German" and found.verdict == "supported"
    assert "only 1 of 2 samples say 'German'" in found.doubts


def test_what_a_sample_that_lost_computed_is_not_in_the_trace(sources: Sources) -> None:
    how_many = "How many nationalities did Bernhard Heiden's teacher have?"
    insisting = [GERMAN] * 4  # a name is doubted, since a number is asked for
    found, _ = play(
        kerag(sources, filtering="none", samples=3), how_many, topics("Bernhard Heiden"), COUNTED, *insisting
    )
    assert found.answer == "German" and steps(found, Computed) == []


def test_a_sample_that_cannot_be_read_has_no_vote(sources: Sources) -> None:
    found, _ = play(
        kerag(sources, filtering="none", samples=2), TEACHER, topics("Bernhard Heiden"), "perhaps", "perhaps", GERMAN
    )
    assert found.answer == "German"
    nothing, _ = play(kerag(sources, filtering="none", samples=2), TEACHER, topics("Bernhard Heiden"), *["no"] * 4)
    assert nothing.reason == "unreadable_reply"


def test_no_sample_is_rejected(sources: Sources) -> None:
    with pytest.raises(UserError, match="samples must be at least 1"):
        play(kerag(sources, filtering="none", samples=0), TEACHER, topics("Bernhard Heiden"))


# --- the option `judge_proof`: a model says whether the evidence proves the answer
REPLIES = (topics("Bernhard Heiden"), GERMAN)


def test_a_proof_that_the_model_denies_leaves_a_doubt(sources: Sources) -> None:
    program = kerag(sources, filtering="none", judge_proof=True)
    reasoning = "The facts say where he was born."
    (denied, engine) = play(program, TEACHER, *REPLIES, fields(reasoning=reasoning, entails="False"))
    assert denied.answer == "German" and denied.verdict == "supported"
    assert denied.doubts[0] == f"the model finds no proof: {reasoning}"
    assert "Paul Hindemith | nationality | German" in engine.prompts[-1]
    assert [step.signature for step in steps(denied, Wrote)][-1] == "JudgeProof"
    assert not steps(denied, Checked)[-1].passed


def test_a_proof_that_the_model_finds_leaves_none(sources: Sources) -> None:
    program = kerag(sources, filtering="none", judge_proof=True)
    found, _ = play(program, TEACHER, *REPLIES, fields(reasoning="They say it.", entails="True"))
    assert found.answer == "German" and not any("the model finds" in doubt for doubt in found.doubts)


def test_a_judgement_that_cannot_be_read_changes_nothing(sources: Sources) -> None:
    program = kerag(sources, filtering="none", judge_proof=True)
    found, _ = play(program, TEACHER, *REPLIES, "perhaps", "perhaps")
    assert found.answer == "German" and not any("the model finds" in doubt for doubt in found.doubts)


def test_it_is_a_step_that_optimizers_see(bundled: KnowledgeBase) -> None:
    assert "judge_proof" in dict(KERAG(bundled, judge_proof=True).named_predictors())
    assert "judge_proof" not in dict(KERAG(bundled).named_predictors())


def test_the_baseline_judges_by_the_names_of_relations(bundled: KnowledgeBase) -> None:
    right = KERAG(bundled, judge_proof=True)(question="What is the capital of Mongolia?")
    assert [step.outputs["entails"] for step in steps(right, Wrote) if step.signature == "JudgeProof"] == [True]
