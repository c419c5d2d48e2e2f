"""KERAG: planning, retrieval and summarization, option by option."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from model_stand_ins import scripted_model
from program_parts import (
    Build,
    WatchedGraph,
    ask,
    build_rows,
    build_turtle,
    conclude_with,
    fields,
    items,
    keep,
    kerag,
    kinds,
    node,
    play,
    steps,
    topics,
)

from triplecheck.kg import KnowledgeBase
from triplecheck.lms import Budget, BudgetExceededError, Roles, session
from triplecheck.programs import KERAG, KERAGLimits, Sources, replay, to_json
from triplecheck.programs.steps import Assisted, Checked, Expanded, Linked, Pruned, Stopped, Truncated, Wrote

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
TALK = (
    topics("Bernhard Heiden", domain="Composer"),
    keep("→ student of"),
    keep("→ nationality"),
    conclude_with("German", cite=["student of", "nationality"]),
)


@pytest.fixture(scope="module")
def untyped(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    rows = [
        ("Heiden", "student_of", "Hindemith"),
        ("Hindemith", "nationality", "German"),
        ("Heiden", "lived_in", "Bonn"),
    ]
    return build_rows(rows, tmp_path_factory.mktemp("untyped"))


class TestStages:
    def test_it_plans_retrieves_and_summarizes(self, sources: Sources) -> None:
        result, engine = play(kerag(sources), TEACHER, *TALK)
        assert (result.answer, result.grounded, result.abstained, result.reason) == ("German", True, False, "")
        assert result.answers == [{"id": "http://example.org/german", "label": "German"}]
        assert replay(sources.graph, result.evidence) == []
        assert kinds(result) == [
            *("wrote", "linked"),
            *("wrote", "pruned", "expanded") * 2,
            *("wrote", "checked", "answered"),
        ]
        assert [step.signature for step in steps(result, Wrote)] == [
            *("NameTopics", "SelectPaths", "SelectPaths", "AnswerFromFacts")
        ]
        assert len(engine.requests) == 4

    def test_prompts_show_schema_first_and_facts_last(self, sources: Sources) -> None:
        _, engine = play(kerag(sources), TEACHER, *TALK)
        named, first, second, last = engine.requests
        assert items(named, "known_names") == ["Bernhard Heiden (Composer)"]
        assert "Composer" in items(named, "types")
        assert items(first, "topics") == items(second, "topics") == items(last, "topics") == ["Bernhard Heiden"]
        assert "Bernhard Heiden → student of / teacher (1 × Composer)" in items(first, "paths")
        assert "Bernhard Heiden → date of birth (1 × date)" in items(first, "paths")
        assert not any("Hindemith" in line for line in items(first, "paths"))
        assert "Bernhard Heiden → student of / teacher → nationality (1 × Nationality)" in items(second, "paths")
        assert items(last, "facts") == [
            "Bernhard Heiden → student of / teacher → Paul Hindemith",
            "Paul Hindemith → nationality → German",
        ]

    def test_a_path_that_only_turns_back_is_not_offered(self, sources: Sources) -> None:
        _, engine = play(kerag(sources), TEACHER, *TALK)
        second = items(engine.requests[2], "paths")
        # Hindemith has other students than Heiden, but nobody else has his date of birth.
        assert any(line.startswith("Bernhard Heiden → student of / teacher ← student of") for line in second)
        births = [topics("Bernhard Heiden"), keep("date of birth"), conclude_with("1910-08-24")]
        result, _ = play(kerag(sources), "When was Bernhard Heiden born?", *births)
        assert len(steps(result, Pruned)) == 1

    def test_every_step_and_the_result_are_plain_json(self, sources: Sources) -> None:
        result, _ = play(kerag(sources), "Who taught Bernard Hieden and Luke Fuchs?", *_misspelt())
        plain = json.loads(json.dumps(to_json(result)))
        assert [step["kind"] for step in plain["steps"]] == kinds(result)
        assert set(plain) == {
            *("question", "program", "answer", "answers", "evidence", "abstained", "reason", "grounded", "confidence"),
            *("steps", "usage", "verdict", "doubts", "features", "missing", "nearest", "query", "looked_through"),
        }
        assert set(plain["evidence"][0]) >= {"head", "relation", "tail", "head_label", "relation_label", "tail_label"}
        assert plain["program"] == "kerag"

    def test_usage_is_reported_by_role(self, sources: Sources) -> None:
        result, _ = play(kerag(sources), TEACHER, *TALK)
        assert {role: usage.calls for role, usage in result.usage.by_role.items()} == {
            "extract": 1,
            "prune": 2,
            "answer": 1,
        }
        assert result.usage.calls == 4
        assert result.usage.prompt_tokens > 100

    def test_each_role_can_have_its_own_model(self, sources: Sources) -> None:
        with scripted_model(TALK[:1], "a") as a, scripted_model(TALK[1:3], "b"), scripted_model(TALK[3:], "c"):
            with session(Roles(default="c", by_role={"extract": "a", "prune": "b"})):
                result = kerag(sources)(question=TEACHER)
            assert a.left == 0
        assert [step.model for step in steps(result, Wrote)] == ["a", "b", "b", "c"]
        assert result.answer == "German"

    def test_retrieved_nodes_are_reported(self, sources: Sources) -> None:
        result, _ = play(kerag(sources), TEACHER, *TALK)
        assert {sources.graph.label(n) for n in result.retrieved} == {"Bernhard Heiden", "Paul Hindemith", "German"}

    @pytest.mark.parametrize("hops", [1, 2, 3])
    @pytest.mark.parametrize("filtering", ["schema", "instances", "none"])
    def test_there_are_at_most_two_calls_plus_one_per_hop(self, sources: Sources, hops: int, filtering: Any) -> None:
        result = ask(kerag(sources, hops=hops, filtering=filtering), TEACHER)
        assert 2 <= result.usage.calls <= 2 + (0 if filtering == "none" else hops)
        assert replay(sources.graph, result.evidence) == []


def _misspelt() -> list[Any]:
    found = topics("Bernard Hieden = Bernhard Heiden (Composer)", "Lukas Foss")
    return [found, keep("→ student of"), fields(keep="none"), conclude_with(cite=["student of"], operation="common")]


class TestFiltering:
    def test_nothing_is_fetched_before_the_schema_was_filtered(self, world: KnowledgeBase) -> None:
        graph = WatchedGraph(world.graph)
        program = kerag(Sources(graph, world.linker, world.relation_vectors))

        def noted(reply: Any) -> Any:
            def tell(request: Any) -> str:
                graph.events.append("model")
                return reply if isinstance(reply, str) else str(reply(request))

            return tell

        result, _ = play(program, TEACHER, *map(noted, TALK))
        last = len(graph.events) - graph.events[::-1].index("model")  # after it the answer is judged
        watched = ("model", "expand", "neighbors", "relation_counts", "schema")
        asked = [e for e in graph.events[:last] if e in watched]
        # Topics; then each hop: look at the schema, ask, and only then fetch; in the end the answer.
        assert [e for e in asked if e != "schema"] == [
            *("model", "relation_counts", "model", "expand", "relation_counts", "model", "expand", "model"),
        ]
        assert asked.index("schema") < asked.index("expand")
        assert result.answer == "German"

    def test_only_selected_paths_are_fetched(self, sources: Sources) -> None:
        result, _ = play(kerag(sources), TEACHER, *TALK)
        assert [step.path for step in steps(result, Expanded)] == [
            "Bernhard Heiden → student of / teacher",
            "Bernhard Heiden → student of / teacher → nationality",
        ]
        pruned = steps(result, Pruned)
        assert [step.by for step in pruned] == ["schema", "schema"]
        assert all(len(step.kept) == 1 < len(step.offered) for step in pruned)

    def test_paths_are_followed_in_the_order_in_which_they_were_kept(self, sources: Sources) -> None:
        def backwards(request: Any) -> str:
            lines = items(request, "paths")
            return fields(keep=", ".join(str(n) for n in range(len(lines), 0, -1)))

        replies = [topics("Paul Hindemith"), backwards, conclude_with("German")]
        result, _ = play(kerag(sources, hops=1), "Paul Hindemith?", *replies)
        (pruned,) = steps(result, Pruned)
        assert pruned.kept == pruned.offered[::-1]
        assert [step.path for step in steps(result, Expanded)] == [line.rsplit(" (", 1)[0] for line in pruned.kept]

    def test_filtering_by_instances_shows_examples(self, sources: Sources) -> None:
        result, engine = play(kerag(sources, filtering="instances"), TEACHER, *TALK)
        assert "Bernhard Heiden → student of / teacher (1 × e.g. Paul Hindemith)" in items(engine.requests[1], "paths")
        assert [step.by for step in steps(result, Pruned)] == ["instances", "instances"]
        assert result.answer == "German"

    def test_a_graph_without_types_falls_back_to_instances(self, untyped: KnowledgeBase) -> None:
        replies = [topics("Heiden"), keep("student"), keep("nationality"), conclude_with("German")]
        result, engine = play(kerag(untyped), TEACHER.replace("Bernhard ", ""), *replies)
        assert "Heiden → student of (1 × e.g. Hindemith)" in items(engine.requests[1], "paths")
        assert [step.by for step in steps(result, Pruned)] == ["instances", "instances"]
        assert (result.answer, result.grounded) == ("German", True)

    def test_without_filtering_everything_is_fetched_without_a_model_call(self, sources: Sources) -> None:
        replies = [topics("Bernhard Heiden"), conclude_with("German", cite=["nationality"])]
        result, engine = play(kerag(sources, filtering="none"), TEACHER, *replies)
        assert [step.by for step in steps(result, Pruned)] == ["none", "none"]
        assert all(step.kept == step.offered for step in steps(result, Pruned))
        facts = items(engine.requests[1], "facts")
        assert {"Bernhard Heiden → born in / place of birth → Frankfurt", "Paul Hindemith → nationality → German"} <= {
            fact.replace("born in →", "born in / place of birth →") for fact in facts
        }
        assert result.answer == "German"

    def test_one_hop_only_does_not_reach_the_second(self, sources: Sources) -> None:
        replies = [topics("Bernhard Heiden"), keep("→ student of"), conclude_with("German")]
        result, engine = play(kerag(sources, hops=1), TEACHER, *replies)
        assert (result.answer, result.grounded) == ("German", False)
        assert len(engine.requests) == 3

    def test_more_hops_reach_further(self, sources: Sources) -> None:
        replies = [topics("Bernhard Heiden"), *(keep("→ student of"),) * 3, conclude_with("Bernhard Sekles")]
        result, _ = play(kerag(sources, hops=3), "Whose pupil taught Bernhard Heiden?", *replies[:4], replies[-1])
        assert (result.answer, result.grounded) == ("Bernhard Sekles", True)
        assert len(result.evidence) == 2


class TestTopics:
    BOTH = "Are Bernhard Heiden and Lukas Foss students of the same composer?"

    def test_a_comparison_starts_from_several_topics(self, sources: Sources) -> None:
        replies = [
            topics("Bernhard Heiden", "Lukas Foss"),
            keep("→ student of"),
            fields(keep="none"),
            conclude_with(cite=["→ student of"], operation="same"),
        ]
        result, engine = play(kerag(sources), self.BOTH, *replies)
        assert items(engine.requests[1], "topics") == ["Bernhard Heiden", "Lukas Foss"]
        assert (result.answer, result.grounded, len(result.evidence)) == ("yes", True, 2)

    def test_the_single_entity_option_uses_the_first_topic_only(self, sources: Sources) -> None:
        replies = [topics("Bernhard Heiden", "Lukas Foss"), fields(keep="none")]
        result, engine = play(kerag(sources, multi_entity=False), self.BOTH, *replies)
        assert items(engine.requests[1], "topics") == ["Bernhard Heiden"]
        assert [step.mention for step in steps(result, Linked)] == ["Bernhard Heiden"]

    @pytest.mark.parametrize("preset", ["default", "paper"])
    def test_a_topic_that_the_model_left_out_is_followed_too(self, sources: Sources, preset: str) -> None:
        followed = preset == "default"
        replies = [topics("Lukas Foss"), *([fields(query="none")] if followed else []), fields(keep="none")]
        result, engine = play(KERAG(sources, preset=preset), self.BOTH, *replies)
        assert items(engine.requests[-1], "topics") == ["Lukas Foss", *(["Bernhard Heiden"] if followed else [])]
        told = [step.after for step in steps(result, Assisted) if step.name == "all_topics"]
        assert told == ([["Lukas Foss", "Bernhard Heiden"]] if followed else [])

    def test_a_topic_that_is_named_twice_counts_once(self, sources: Sources) -> None:
        replies = [topics("Luke Fuchs", "Lukas Foss", "Luke Fuchs"), fields(keep="none")]
        _, engine = play(kerag(sources), "Luke Fuchs?", *replies)
        assert items(engine.requests[1], "topics") == ["Luke Fuchs = Lukas Foss"]


class TestAbstaining:
    @pytest.mark.parametrize(
        ("reason", "replies"),
        [
            ("no_topic", [topics()]),
            ("no_topic", [topics("Zaphod Beeblebrox")]),
            ("no_facts", [topics("Bernhard Heiden"), fields(keep="none")]),
            ("no_facts", [topics("Bernhard Heiden"), fields(keep="99, 100")]),
            ("not_in_facts", [*TALK[:3], conclude_with()]),
            ("not_in_facts", [*TALK[:3], *[conclude_with(cite=["nationality"])] * 2]),
            ("unreadable_reply", ["I do not know", "Sorry?"]),
            ("unreadable_reply", [TALK[0], "many", "1.5"]),
            ("unreadable_reply", [*TALK[:3], "German", "German!"]),
        ],
    )
    def test_every_abstention_has_a_reason_and_a_step(self, sources: Sources, reason: str, replies: list[Any]) -> None:
        result, _ = play(kerag(sources), TEACHER, *replies)
        assert (result.abstained, result.reason, result.answer, result.answers) == (True, reason, "", [])
        assert (result.grounded, result.evidence) == (False, [])
        assert isinstance(result.steps[-1], Stopped)
        assert result.steps[-1].reason == reason
        json.dumps(to_json(result))

    def test_an_unreadable_reply_is_retried_once(self, sources: Sources) -> None:
        result, _ = play(kerag(sources), TEACHER, "Heiden, I think", *TALK)
        assert result.answer == "German"

    def test_numbers_of_paths_and_facts_that_do_not_exist_are_ignored_and_noted(self, sources: Sources) -> None:
        def out_of_range(request: Any) -> str:
            return fields(keep=f"0, -3, {len(items(request, 'paths')) + 1}, 99999999999999999999, 1")

        answer = fields(reasoning="", cited="7, 0, 1", operation="none", answers="none of these")
        result, _ = play(kerag(sources, hops=1), TEACHER, TALK[0], out_of_range, answer)
        assert len(steps(result, Expanded)) == 1
        noted = [step for step in steps(result, Checked) if "numbers" in step.what]
        assert [step.what for step in noted] == ["path numbers", "fact numbers"]
        assert not any(step.passed for step in noted)

    def test_an_exhausted_budget_keeps_the_steps_so_far(self, sources: Sources) -> None:
        program = kerag(sources)
        with scripted_model(TALK) as engine, session(engine.name, Budget(calls=2)):
            with pytest.raises(BudgetExceededError, match="budget of 2 calls") as raised:
                program(question=TEACHER)
            assert engine.left == 2
        progress = raised.value.progress
        assert isinstance(progress, dict)
        assert [step.kind for step in progress["steps"]] == ["wrote", "linked", "wrote", "pruned", "expanded"]
        assert progress["usage"].calls == 2


def roles(program: dspy.Module) -> dict[str, str]:
    return {name: step.role for name, step in program.named_predictors()}


class TestAsAModule:
    def test_its_predictors_are_the_three_steps_and_those_of_assists(self, sources: Sources) -> None:
        paper = {"name_topics": "extract", "select_paths": "prune", "summarize": "answer"}
        assert roles(KERAG(sources, preset="paper")) == paper
        assert roles(KERAG(sources)) == paper | {
            "write_query": "query",
        }
        assert roles(KERAG(sources, filtering="none", assist="none")).keys() == {"name_topics", "summarize"}

    def test_many_questions_run_in_parallel(self, sources: Sources) -> None:
        program = kerag(sources)
        questions = [
            TEACHER,
            "Where was Paul Hindemith born?",
            "Who was the teacher of Lukas Foss?",
            "In which city was Bernhard Sekles born?",
        ]
        with session("extractive") as ledger:
            alone = [program(question=q) for q in questions]
            pairs = [(program, {"question": q}) for q in questions * 3]
            together = dspy.Parallel(num_threads=4, disable_progress_bar=True)(pairs)
        assert [r.answer for r in together] == [r.answer for r in alone] * 3
        assert [r.steps for r in together] == [r.steps for r in alone] * 3
        assert [r.usage.calls for r in together] == [r.usage.calls for r in alone] * 3
        assert ledger.usage().calls == 4 * sum(r.usage.calls for r in alone)


def test_it_needs_no_vectors_of_relations(world: KnowledgeBase) -> None:
    result, _ = play(kerag(Sources(world.graph, world.linker)), TEACHER, *TALK)
    assert result.answer == "German"


def test_an_answer_beside_which_others_fit_as_well_is_not_proved(build: Build) -> None:
    """Where the same triples hold of a thing that is no answer, something in the question was not used."""
    base = build(
        ":ada a :keeper ; rdfs:label 'Ada' ; :tends :rex ; :worksIn :north . "
        ":bea a :keeper ; rdfs:label 'Bea' ; :tends :rex ; :worksIn :north . "
        ":rex a :lion ; rdfs:label 'Rex' . :north a :house ; rdfs:label 'North House' ."
    )
    question = "Who tends Rex and works in North House?"
    program, named = kerag(base, filtering="none"), topics("Rex", "North House")
    both, _ = play(program, question, named, conclude_with("Ada", "Bea", cite=["Rex", "North House"]))
    assert both.verdict == "proved"
    one, _ = play(program, question, named, conclude_with("Ada", cite=["Ada"]))
    assert one.verdict == "supported"
    assert "the same triples hold of 'Bea'" in one.doubts


# --- limits: what they cut off is recorded, and computed results stay exact
HUB = "\n".join(
    [
        ":hub a :Band ; rdfs:label 'Hub' ; :founded 1960 ; :genre :rock .",
        *(f":m{i} a :Person ; rdfs:label 'Member {i}' ; :memberOf :hub ; :age {i} ." for i in range(10)),
    ]
)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_turtle(HUB, tmp_path_factory.mktemp("hub"))


def cut(result: Any) -> list[tuple[str, int, int]]:
    return [(step.what, step.kept, step.total) for step in steps(result, Truncated)]


def run(base: KnowledgeBase, limits: KERAGLimits, *replies: Any, **options: Any) -> tuple[Any, Any]:
    question = "How many are the members of Hub, and how old?"
    return play(kerag(base, limits=limits, **options), question, topics("Hub"), *replies)


def test_values_of_one_entity_are_limited(hub: KnowledgeBase) -> None:
    count = conclude_with(cite=["member of"], operation="count")
    result, engine = run(hub, KERAGLimits(values=3), keep("member of"), count, hops=1)
    assert items(engine.requests[2], "facts") == ["Hub ← member of ← Member 0 | Member 1 | Member 2 | ... 7 more"]
    (expanded,) = steps(result, Expanded)
    assert (expanded.triples, expanded.total) == (3, 10)
    assert (result.answer, result.grounded, len(result.evidence)) == ("10", True, 3)
    assert replay(hub.graph, result.evidence) == []


@pytest.mark.parametrize("limits", [KERAGLimits(values=3), KERAGLimits(frontier=4), KERAGLimits(triples=13)], ids=str)
def test_nothing_is_computed_over_truncated_facts(hub: KnowledgeBase, limits: KERAGLimits) -> None:
    oldest = conclude_with(cite=["age"], operation="max")
    result, _ = run(hub, limits, keep("member of"), keep("age"), oldest)
    assert (result.abstained, result.answer) == (True, "")
    (refused,) = (step for step in steps(result, Checked) if step.what == "operation max")
    assert not refused.passed


def test_followed_entities_are_limited(hub: KnowledgeBase) -> None:
    result, engine = run(hub, KERAGLimits(frontier=4), keep("member of"), keep("age"), conclude_with("3", cite=["age"]))
    assert cut(result) == [("frontier: Hub ← member of → age", 4, 10)]
    assert len(items(engine.requests[3], "facts")) == 5


def test_the_total_number_of_triples_is_limited(hub: KnowledgeBase) -> None:
    result, _ = run(hub, KERAGLimits(triples=12), keep("member of"), keep("age", "member of"), conclude_with("1"))
    told = [(e.path, e.triples, e.total) for e in steps(result, Expanded)]
    assert told[0] == ("Hub ← member of", 10, 10)
    assert sum(triples for _, triples, _ in told) == 12
    assert told[1][1] < told[1][2]
    result, _ = run(hub, KERAGLimits(triples=10), keep("member of"), keep("age"), conclude_with("Member 1"))
    assert cut(result) == [("triples: Hub ← member of → age", 0, 10)]


def test_a_fact_truncated_by_the_total_limit_keeps_its_full_count(hub: KnowledgeBase) -> None:
    count = conclude_with(cite=["member of"], operation="count")
    result, engine = run(hub, KERAGLimits(triples=4), keep("member of"), count, hops=1)
    assert items(engine.requests[2], "facts")[0].endswith("Member 3 | ... 6 more")
    assert result.answer == "10"


def test_prompt_tokens_are_limited(hub: KnowledgeBase) -> None:
    limits = KERAGLimits(tokens=60)
    result, engine = run(hub, limits, keep("member of"), keep("age"), conclude_with("1", cite=["age"]))
    shown = items(engine.requests[3], "facts")
    assert cut(result) == [("facts in the prompt", len(shown), 11), ("values in the prompt", 10, 13)]
    assert 1 <= len(shown) < 11
    # What stands in no prompt is still a retrieved fact, in which an answer is found.
    assert run(hub, limits, keep("member of"), keep("age"), conclude_with("9"))[0].grounded


def test_offered_paths_are_those_most_similar_to_the_question(sources: Sources) -> None:
    program = kerag(sources, limits=KERAGLimits(offered=1), hops=1)
    replies = [topics("Bernhard Heiden"), fields(keep="1"), conclude_with("Paul Hindemith")]
    result, engine = play(program, "Who was the teacher of Bernhard Heiden?", *replies)
    assert items(engine.requests[1], "paths") == ["Bernhard Heiden → student of / teacher (1 × Composer)"]
    assert cut(result) == [("offered paths", 1, 3)]
    assert len(steps(result, Pruned)[0].offered) == 1


@pytest.mark.parametrize(
    ("relations", "shown"), [(("knows", "P57"), ["Ann → knows"]), (("P57", "P58"), ["Ann → P57", "Ann → P58"])]
)
def test_a_relation_without_a_name_is_offered_only_if_none_has_one(
    relations: tuple[str, str], shown: list[str], tmp_path: Path
) -> None:
    base = build_rows([("Ann", relation, f"Bob {relation}") for relation in relations], tmp_path)
    replies = [topics("Ann"), fields(keep="1"), conclude_with(f"Bob {relations[0]}")]
    result, engine = play(kerag(base, hops=1), "Whom does Ann know?", *replies)
    assert sorted(line.split(" (")[0] for line in items(engine.requests[1], "paths")) == shown
    assert cut(result) == ([("paths by relations with a name", 1, 2)] if "knows" in relations else [])


def test_offered_paths_are_limited_without_vectors(hub: KnowledgeBase) -> None:
    result, engine = run(hub, KERAGLimits(offered=2), fields(keep="1, 2"), conclude_with("1960"), hops=1)
    assert len(items(engine.requests[1], "paths")) == 2
    assert cut(result) == [("offered paths", 2, 3)]


def test_without_filtering_no_path_is_left_out(hub: KnowledgeBase) -> None:
    result, _ = run(hub, KERAGLimits(offered=1), conclude_with("1960"), hops=1, filtering="none")
    assert cut(result) == []
    assert len(steps(result, Expanded)) == 3


def test_within_the_limits_nothing_is_truncated(hub: KnowledgeBase) -> None:
    for filtering in ("schema", "instances", "none"):
        result = ask(kerag(hub, filtering=filtering), "Which band is Member 3 a member of?")
        assert cut(result) == []
        assert all(step.triples == step.total for step in steps(result, Expanded))


@pytest.fixture(scope="module")
def giant(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """A hub with 200,000 neighbours."""
    rows = [(f"Person {i}", "citizen_of", "Utopia") for i in range(200_000)]
    rows += [("Utopia", "capital", "Amaurot"), ("Person 7", "friend_of", "Person 8")]
    return build_rows(rows, tmp_path_factory.mktemp("giant"))


class TestLarge:
    def test_a_question_about_a_hub_is_answered(self, giant: KnowledgeBase) -> None:
        result = ask(kerag(giant), "What is the capital of Utopia?")
        assert (result.answer, result.grounded) == ("Amaurot", True)
        assert sum(step.triples for step in steps(result, Expanded)) <= KERAGLimits().triples

    def test_the_neighbours_of_a_hub_are_counted_exactly(self, giant: KnowledgeBase) -> None:
        replies = [topics("Utopia"), keep("citizen of"), conclude_with(cite=["citizen of"], operation="count")]
        result, _ = play(kerag(giant, hops=1), "How many citizens has Utopia?", *replies)
        assert (result.answer, len(result.evidence)) == ("200000", 200)
        assert steps(result, Expanded)[0].total == 200_000

    @pytest.mark.parametrize("filtering", ["schema", "none"])
    def test_a_path_through_a_hub_is_limited(self, giant: KnowledgeBase, filtering: Any) -> None:
        result = ask(kerag(giant, filtering=filtering, hops=3), "Who is a friend of Person 7?")
        assert result.answer == "Person 8"
        assert sum(step.triples for step in steps(result, Expanded)) <= KERAGLimits().triples
        assert replay(giant.graph, result.evidence) == []


def test_everything_that_was_fetched_is_an_edge_of_the_graph(hub: KnowledgeBase) -> None:
    program = kerag(hub, filtering="none", limits=KERAGLimits(values=4, frontier=3, triples=15))
    result, _ = play(program, "Hub?", topics("Hub"), conclude_with("Member 0"))
    assert replay(hub.graph, result.evidence) == []
    assert node(hub.graph, "hub") in result.retrieved


def test_no_further_hop_is_offered_that_the_ranker_finds_far_too_long(bundled: KnowledgeBase) -> None:
    result = ask(kerag(bundled), "Who directed Alien?")
    assert result.answer == "Ridley Scott"
    last = steps(result, Pruned)[-1]
    assert (last.hop, last.kept, last.by) == (2, [], "ranker")
    assert len([step for step in steps(result, Wrote) if step.signature == "SelectPaths"]) == 1
    longer = ask(kerag(bundled), "What is the nationality of the director of Alien?")
    assert all(step.by == "schema" for step in steps(longer, Pruned))
    unranked = ask(kerag(bundled, assist="-stop_early"), "Who directed Alien?")
    assert all(step.by == "schema" for step in steps(unranked, Pruned))


def test_paths_that_meet_go_no_further_unless_the_ranker_prefers_it(bundled: KnowledgeBase) -> None:
    both = "Which films by Christopher Nolan star Michael Caine?"
    assert {step.hop: step.by for step in steps(ask(kerag(bundled), both), Pruned)} == {1: "schema", 2: "ranker"}
    whole = ask(kerag(bundled, assist="-stop_early -plans"), both)
    assert {step.hop: step.by for step in steps(whole, Pruned)} == {1: "schema", 2: "schema"}
