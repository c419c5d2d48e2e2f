"""From a question, and from the names that a model writes, to nodes of the graph."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from program_parts import Build, build_rows, kerag, play, steps, topics

from triplecheck.kg import Graph, KnowledgeBase
from triplecheck.programs.assists import Assists
from triplecheck.programs.assists.kerag import all_topics
from triplecheck.programs.steps import Assisted, Linked, Trace, Truncated
from triplecheck.programs.topics import TopicLinker, as_written


def linker(base: KnowledgeBase, question: str) -> TopicLinker:
    return TopicLinker(base.graph, base.linker, question)


def linked(base: KnowledgeBase, question: str, name: str, domain: str = "unknown", limit: int = 3) -> list[str]:
    found = linker(base, question).link(name, domain, limit, Trace())
    return [base.graph.node_id(topic.node).rsplit("/", 1)[-1] for topic in found]


class TestKnownNames:
    def test_a_name_is_shown_with_its_types(self, world: KnowledgeBase) -> None:
        assert linker(world, "Who taught Bernhard Heiden?").known_names() == ["Bernhard Heiden (Composer)"]

    def test_an_alias_is_shown_with_its_name(self, world: KnowledgeBase) -> None:
        assert linker(world, "Who taught Luke Fuchs?").known_names() == ["Luke Fuchs = Lukas Foss (Composer)"]

    def test_a_misspelt_name_is_shown_as_written(self, world: KnowledgeBase) -> None:
        assert (
            "Bernard Hieden = Bernhard Heiden (Composer)" in linker(world, "Who taught Bernard Hieden?").known_names()
        )

    def test_types_are_from_the_graph(self, world: KnowledgeBase) -> None:
        assert {"Composer", "City", "Scientist"} <= set(linker(world, "Who?").types())

    @pytest.mark.parametrize("question", ["?", "Who was that?", "asdf qwer", "東京", "\x00", "'; DROP TABLE"])
    def test_a_question_without_names_has_none(self, world: KnowledgeBase, question: str) -> None:
        assert linker(world, question).known_names() == []

    def test_a_graph_without_types_shows_names_alone(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        base = build_rows([("Ada Lovelace", "born_in", "London")], tmp_path_factory.mktemp("rows"))
        assert linker(base, "Where was Ada Lovelace born?").known_names() == ["Ada Lovelace"]
        assert linker(base, "Where was Ada Lovelace born?").types() == []

    def test_names_that_a_prompt_leaves_out_are_recorded(self, build: Build) -> None:
        names = [f"{first}{last}" for first in ("Bor", "Kal", "Ven") for last in ("dum", "gost", "rima")]
        base = build("".join(f":{name} rdfs:label '{name}' ; :p :x .\n" for name in names))
        trace = Trace()
        found = TopicLinker(base.graph, base.linker, f"Who met {', '.join(names)}?", trace=trace)
        assert len(found.known_names()) == 8
        assert trace.steps == [Truncated("names in the question", 8, 9)]

    def test_marks_of_the_notation_are_removed(self, build: Build) -> None:
        base = build(":a rdfs:label 'E = mc2' ; :p :b .")
        assert linker(base, "Who wrote E = mc2?").known_names() == ["E=mc2"]
        assert linked(base, "Who wrote E = mc2?", "E=mc2") == ["a"]


class TestNamesWithoutANote:
    def test_a_name_without_a_note_means_those_with_and_without_types(self, build: Build) -> None:
        base = build(":a rdfs:label 'Reed' ; :p :x . :b rdfs:label 'Reed' ; a :Plant ; :p :x .")
        assert set(linked(base, "Where is Reed?", "Reed")) == {"a", "b"}
        assert linked(base, "Where is Reed?", "Reed (Plant)") == ["b"]

    def test_the_exact_name_is_preferred_to_names_like_it(self, build: Build) -> None:
        base = build(":a rdfs:label 'Reed' ; :p :x . :b rdfs:label 'Reeds' ; :p :x .")
        topics = TopicLinker(base.graph, base.linker, "Where is Reed?", union=True)
        assert [c.id.rsplit("/", 1)[-1] for c in topics.candidates("Reed")[1]] == ["a"]


class TestLinking:
    @pytest.mark.parametrize(
        "name",
        [
            "Lukas Foss",
            "Luke Fuchs",
            "lukas foss",
            "Luke Fuchs = Lukas Foss",
            "Luke Fuchs = Lukas Foss (Composer)",
            "Lukas Foss (Composer)",
            "Luke Fuchs (Composer)",
            "Lukas Foss (Person, Composer)",
        ],
    )
    def test_every_way_to_copy_a_known_name_links_to_it(self, world: KnowledgeBase, name: str) -> None:
        assert linked(world, "Who taught Luke Fuchs?", name) == ["lukas"]

    def test_a_name_that_is_not_in_the_question_is_looked_up(self, world: KnowledgeBase) -> None:
        assert linked(world, "Who taught him?", "Paul Hindemith") == ["hindemith"]
        assert linked(world, "Who taught him?", "Paul Hindemit") == ["hindemith"]
        assert linked(world, "Who taught him?", "Paul Hindemith (Composer)") == ["hindemith"]

    @pytest.mark.parametrize("name", ["Zaphod Beeblebrox", "?", "…", "x" * 20_000, "= = =", "\x00"])
    def test_an_invented_name_links_to_nothing(self, world: KnowledgeBase, name: str) -> None:
        assert linked(world, "Who taught Bernhard Heiden?", name) == []

    def test_a_topic_keeps_the_spelling_of_the_question(self, world: KnowledgeBase) -> None:
        found = linker(world, "Who taught Luke Fuchs?").link("Lukas Foss", "unknown", 3, Trace())
        assert [topic.written for topic in found] == ["Luke Fuchs"]

    def test_the_trace_records_the_candidates_and_the_choice(self, world: KnowledgeBase) -> None:
        trace = Trace()
        linker(world, "Where was Michael Jordan born?").link("Michael Jordan", "Athlete", 3, trace)
        (step,) = trace.steps
        assert isinstance(step, Linked)
        assert {row["id"].rsplit("/", 1)[1] for row in step.candidates} == {"mj_player", "mj_scholar"}
        assert [id.rsplit("/", 1)[1] for id in step.chosen] == ["mj_player"]


def left_out(base: KnowledgeBase, question: str, named: Sequence[str] = ()) -> list[str]:
    """What the assist `all_topics` adds to the names that a model gave."""
    trace = Trace()
    found = all_topics(Assists(), linker(base, question), named, trace)
    assert found[: len(named)] == list(named)
    assert [(step.name, step.after) for step in trace.steps if isinstance(step, Assisted)] == (
        [("all_topics", found)] if found != list(named) else []
    )
    assert all_topics(Assists("none"), linker(base, question), named, trace) == list(named)
    return found[len(named) :]


class TestLeftOut:
    BOTH = "Who taught both Bernhard Heiden and Luke Fuchs?"

    @pytest.mark.parametrize(
        ("named", "found"),
        [
            (["Bernhard Heiden"], ["Luke Fuchs"]),
            (["Lukas Foss (Composer)"], ["Bernhard Heiden"]),
            (["Bernhard Heiden and Lukas Foss"], []),
            (["Paul Hindemith"], ["Bernhard Heiden", "Luke Fuchs"]),
            ([], ["Bernhard Heiden", "Luke Fuchs"]),
        ],
    )
    def test_what_the_question_surely_names(self, world: KnowledgeBase, named: list[str], found: list[str]) -> None:
        assert sorted(left_out(world, self.BOTH, named)) == found

    @pytest.mark.parametrize(
        "question",
        [
            "who taught bernhard heiden?",
            "Who taught bernhard heiden?",
            "WHO TAUGHT BERNHARD HEIDEN?",
            "Who Taught Bernhard Heiden?",
        ],
    )
    def test_where_capitals_tell_nothing_a_name_of_several_words(self, world: KnowledgeBase, question: str) -> None:
        assert [name.casefold() for name in left_out(world, question)] == ["bernhard heiden"]

    def test_one_word_in_lower_case_may_be_no_name(self, build: Build) -> None:
        base = build(":a rdfs:label 'Director' ; :p :x . :b rdfs:label 'Heat Wave' ; :p :x .")
        assert left_out(base, "who is the director of heat wave?") == ["heat wave"]
        assert left_out(base, "Who is the director of Heat Wave?") == ["Heat Wave"]

    def test_a_misspelt_name_may_be_something_else(self, world: KnowledgeBase) -> None:
        assert left_out(world, "Who taught Bernard Hieden?") == []

    def test_the_capital_of_the_first_word_tells_nothing(self, build: Build) -> None:
        base = build(":a rdfs:label 'Heat' ; :p :x . :b rdfs:label 'Heat Wave' ; :p :x .")
        assert left_out(base, "Heat of which film is meant?") == []
        assert left_out(base, "Heat Wave is by whom?") == ["Heat Wave"]


class TestHomonyms:
    QUESTION = "What does Michael Jordan do?"

    def test_all_are_kept_if_nothing_decides(self, world: KnowledgeBase) -> None:
        assert set(linked(world, self.QUESTION, "Michael Jordan")) == {"mj_player", "mj_scholar"}

    @pytest.mark.parametrize(("domain", "id"), [("Athlete", "mj_player"), ("scientist", "mj_scholar")])
    def test_the_domain_decides(self, world: KnowledgeBase, domain: str, id: str) -> None:
        assert linked(world, self.QUESTION, "Michael Jordan", domain) == [id]

    @pytest.mark.parametrize(("kind", "id"), [("Athlete", "mj_player"), ("Scientist", "mj_scholar")])
    def test_the_type_in_brackets_decides(self, world: KnowledgeBase, kind: str, id: str) -> None:
        assert linked(world, self.QUESTION, f"Michael Jordan ({kind})") == [id]

    def test_a_domain_that_fits_none_decides_nothing(self, world: KnowledgeBase) -> None:
        assert len(linked(world, self.QUESTION, "Michael Jordan", "City")) == 2

    def test_homonyms_over_the_limit_are_dropped_and_recorded(self, world: KnowledgeBase) -> None:
        trace = Trace()
        assert len(linker(world, self.QUESTION).link("Michael Jordan", "unknown", 1, trace)) == 1
        assert trace.steps[-1] == Truncated("meanings of Michael Jordan", 1, 2)

    def test_homonyms_are_disambiguated_in_prompts(self, world: KnowledgeBase) -> None:
        program = kerag(world, hops=1)
        result, engine = play(
            program, self.QUESTION, topics("Michael Jordan"), "[[ ## keep ## ]]\nnone\n[[ ## completed ## ]]"
        )
        assert "Michael Jordan = Michael Jordan (Athlete)" in engine.prompts[1]
        assert "Michael Jordan (Scientist) → field" in engine.prompts[1]
        assert result.reason == "no_facts"
        assert len(steps(result, Linked)[0].chosen) == 2


def test_what_is_cut_off_before_a_prompt_is_recorded(build: Build) -> None:
    namesakes = "".join(f":s{i} rdfs:label 'John Smith' ; a :Kind{i} ; :p :x . " for i in range(12))
    towns = ["Aalen", "Berlin", "Coburg", "Dachau", "Erfurt", "Fulda", "Gera", "Halle", "Ilmenau"]
    named = "".join(f":n{i} rdfs:label '{town}' ; :p :x . " for i, town in enumerate(towns))
    base, trace = build(namesakes + named), Trace()
    TopicLinker(base.graph, base.linker, f"Who went to {', '.join(towns)}?", "en", Assists("none"), trace)
    TopicLinker(base.graph, base.linker, "Who is John Smith?", "en", Assists("none"), trace)
    cut = [(step.what, step.kept, step.total) for step in trace.steps if isinstance(step, Truncated)]
    assert cut == [("names in the question", 8, 9), ("candidates of John Smith", 10, 12)]


def test_a_name_is_shown_with_its_spelling_only_if_it_differs() -> None:
    assert as_written("bernhard heiden", "Bernhard Heiden") == "Bernhard Heiden"
    assert as_written("Satchmo", "Louis Armstrong") == "Satchmo = Louis Armstrong"


def test_numbers_and_dates_are_not_topics(world: KnowledgeBase) -> None:
    graph: Graph = world.graph
    found = linker(world, "Who taught Bernhard Heiden?").link("Bernhard Heiden", "Composer", 3, Trace())
    assert all(graph.literal(topic.node) is None for topic in found)


class TestHomonymsSingledOut:
    ROWS = (
        ":a rdfs:label 'Macbeth' ; a :Play ; :year '1606' . :b rdfs:label 'Macbeth' ; a :Opera ; :year '1847' . "
        ":c rdfs:label 'Macbeth' ; a :Opera ; :year '1910' ."
    )

    @pytest.mark.parametrize(
        ("question", "meant"),
        [
            ("Who wrote the play Macbeth?", {"a"}),
            ("Who wrote Macbeth, the opera?", {"b", "c"}),
            ("Who wrote the 1910 opera Macbeth?", {"c"}),
            ("Who wrote Macbeth (1847)?", {"b"}),
            ("Who wrote Macbeth?", {"a", "b", "c"}),
            ("Which play is named after Macbeth?", {"a", "b", "c"}),
        ],
    )
    def test_by_the_type_or_year_beside_the_name(self, build: Build, question: str, meant: set[str]) -> None:
        assert set(linked(build(self.ROWS), question, "Macbeth")) == meant

    @pytest.mark.parametrize(("name", "meant"), [("Recipe", {"a"}), ("recipe", {"a", "b"})])
    def test_by_its_capitals(self, build: Build, name: str, meant: set[str]) -> None:
        base = build(":a rdfs:label 'Recipe' ; a :Class ; :p 'x' . :b rdfs:label 'recipe' ; a :Property ; :p 'x' .")
        assert set(linked(base, f"Which name does {name} have?", name)) == meant

    def test_a_further_name_is_as_good_as_a_label(self, build: Build) -> None:
        base = build(
            ":a rdfs:label 'Mercury' ; a :Planet ; :p 'x' ."
            ":b rdfs:label 'Freddie Mercury' ; skos:altLabel 'Mercury' ; a :Singer ; :p 'x' ."
        )
        assert set(linked(base, "Which band was Mercury in?", "Mercury")) == {"a", "b"}

    def test_without_the_assist_all_are_kept_and_with_it_the_trace_says_which(self, build: Build) -> None:
        base, trace = build(self.ROWS), Trace()
        asked = "Who wrote the play Macbeth?"
        for assists, count in ((Assists("none"), 3), (Assists(), 1)):
            found = TopicLinker(base.graph, base.linker, asked, "en", assists, trace)
            assert len(found.link("Macbeth", "unknown", 3, trace)) == count
        (step,) = (step for step in trace.steps if isinstance(step, Assisted))
        assert step.name == "homonyms" and len(step.before) == 3 and len(step.after) == 1
