"""AnchorRAG: predictor, concurrent retriever agents and supervisor, option by option."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import dspy
import pytest
from dspy.lm15 import Request
from model_stand_ins import STAND_IN, scripted_model, stand_in_server
from program_parts import EX, Build, ask, build_turtle, fields, numbers, steps
from program_parts import recall as remember

from triplecheck.kg import Direction, UserError
from triplecheck.language.question import read_question
from triplecheck.lms import Budget, BudgetExceededError, TolerantAdapter, session
from triplecheck.lms.engines import messages_of
from triplecheck.lms.prompt import Prompt, read_request
from triplecheck.programs import AnchorRAG, Sources, replay, to_json
from triplecheck.programs.anchorrag.program import fact_lines
from triplecheck.programs.assists import Assists
from triplecheck.programs.steps import (
    Answered,
    Checked,
    Expanded,
    Linked,
    Pruned,
    Scored,
    Stopped,
    Trace,
    Truncated,
)
from triplecheck.programs.subgraph import Fact, Hop, RelationNames

TEACHER = "What was the nationality of Bernhard Heiden's teacher?"
JORDAN = "Who employs Michael Jordan?"
Say = Callable[[Prompt], str]


# --- a model that replies by the step it is asked for ------------------------------------------------
def keywords(*names: str, proofread: str | None = None) -> Say:
    return lambda p: fields(proofread=proofread or p.text("question"), keywords="\n".join(names) or "none")


def choose(*wanted: str) -> Say:
    def say(p: Prompt) -> str:
        return fields(relations=numbers(p.items("paths"), wanted))

    return say


def go_on(relevant: tuple[str, ...] = (), follow: tuple[str, ...] = (), enough: bool = False) -> Say:
    return lambda p: fields(
        relevant=numbers(p.items("facts"), relevant),
        sufficient=str(enough),
        follow=numbers(p.items("paths"), follow),
    )


def answer(*answers: str, cite: tuple[str, ...] = ()) -> Say:
    return lambda p: fields(
        reasoning="so it is",
        cited=numbers(p.items("facts"), cite),
        operation="none",
        answers="\n".join(answers) or "none",
    )


def recall(*answers: str) -> Say:
    return lambda _: remember(*answers)


STEP_OF = {
    ("proofread", "keywords"): "extract",
    ("reasoning", "relations"): "relations",
    ("reasoning", "entities"): "entities",
    ("reasoning", "relevant"): "filter",
    ("reasoning", "sufficient"): "judge",
    ("reasoning", "relevant", "sufficient", "follow"): "go_on",
    ("reasoning", "cited", "operation", "answers"): "answer",
    ("reasoning", "answers"): "recall",
}


class Talk:
    """Replies by step: one for every call, or a list with one per call."""

    def __init__(self, **sayings: Say | list[Say]) -> None:
        self._sayings = {step: list(say) if isinstance(say, list) else say for step, say in sayings.items()}
        self._lock = threading.Lock()
        self.asked: list[tuple[str, Prompt]] = []

    def __call__(self, prompt: Prompt) -> str:
        step = STEP_OF[prompt.outputs]
        with self._lock:
            self.asked.append((step, prompt))
            saying = self._sayings[step]
            say = saying.pop(0) if isinstance(saying, list) else saying
        return say(prompt)

    def prompts(self, step: str) -> list[Prompt]:
        return [prompt for name, prompt in self.asked if name == step]

    @property
    def steps(self) -> list[str]:
        return [step for step, _ in self.asked]


def prompt_of(request: Request) -> Prompt:
    return read_request([(m["role"], m["content"]) for m in messages_of(request)])


def play(program: AnchorRAG, question: str, talk: Talk, budget: Budget | None = None) -> Any:
    with scripted_model([lambda request: talk(prompt_of(request))] * 60) as engine, session(engine.name, budget):
        return program(question=question)


def anchorrag(sources: Sources, **options: Any) -> AnchorRAG:
    return AnchorRAG(sources, **{**options, "assist": f"-plans {options.get('assist', '')}"})


def teacher_talk(**other: Say | list[Say]) -> Talk:
    plain: dict[str, Say | list[Say]] = {
        "extract": keywords("Bernhard Heiden"),
        "relations": choose("→ student of"),
        "go_on": [
            go_on(relevant=("student of",), follow=("→ nationality",)),
            go_on(relevant=("nationality",), enough=True),
        ],
        "answer": answer("German", cite=("student of", "nationality")),
    }
    return Talk(**(plain | other))


def jordan_talk(**other: Say | list[Say]) -> Talk:
    plain: dict[str, Say | list[Say]] = {
        "extract": keywords("Michael Jordan"),
        "go_on": go_on(relevant=("employer",), enough=True),
        "answer": answer("UC Berkeley", cite=("employer",)),
    }
    return Talk(**(plain | other))


def reasons(result: Any) -> list[str]:
    return [step.reason for step in steps(result, Stopped)]


class TestWhole:
    def test_it_predicts_explores_judges_and_answers(self, sources: Sources) -> None:
        talk = teacher_talk()
        result = play(anchorrag(sources), TEACHER, talk)
        assert (result.answer, result.grounded, result.abstained) == ("German", True, False)
        assert [row["label"] for row in result.answers] == ["German"]
        assert [(r["head_label"], r["tail_label"]) for r in result.evidence] == [
            ("Bernhard Heiden", "Paul Hindemith"),
            ("Paul Hindemith", "German"),
        ]
        assert replay(sources.graph, result.evidence) == []
        assert talk.steps == ["extract", "go_on", "go_on", "answer"]
        assert result.retrieved

    def test_three_hops_from_one_anchor_take_five_calls(self, sources: Sources) -> None:
        going = [go_on(("student of",), ("→ student of",)), go_on(("student of",), ("→ born in",))]
        talk = teacher_talk(go_on=going, answer=answer("Frankfurt", cite=("born in",)))
        program = anchorrag(sources, width=2, prefilter=None)
        result = play(program, "Where was the teacher of Bernhard Heiden's teacher born?", talk)
        assert result.answer == "Frankfurt"
        assert result.usage.calls == 5
        assert replay(sources.graph, result.evidence) == []

    def test_the_same_relation_may_be_followed_again_from_another_entity_but_not_from_the_same(
        self, sources: Sources
    ) -> None:
        talk = teacher_talk()
        play(anchorrag(sources), TEACHER, talk)
        paths = talk.prompts("go_on")[0].items("paths")
        assert any("→ student of / teacher → student of" in path for path in paths)
        further = talk.prompts("go_on")[1].items("paths")
        assert not any(path.startswith("Bernhard Heiden → student of / teacher ←") for path in further)

    def test_the_same_replies_give_the_same_trace(self, sources: Sources) -> None:
        traces = []
        for _ in range(3):
            result = ask(anchorrag(sources), JORDAN)
            traces.append([step.to_json() for step in result.steps])
        assert traces[0] == traces[1] == traces[2]

    def test_every_step_is_plain_json_and_is_streamed(self, sources: Sources) -> None:
        heard: list[Any] = []
        with session("extractive"):
            result = anchorrag(sources)(question=TEACHER, on_step=heard.append)
        assert heard == result.steps
        assert json.loads(json.dumps(to_json(result)))["program"] == "anchorrag"


class TestPredictor:
    def test_candidates_are_recorded_with_source_score_and_grounding(self, sources: Sources) -> None:
        result = play(anchorrag(sources), JORDAN, jordan_talk())
        (linked,) = steps(result, Linked)
        assert len(linked.candidates) == len(linked.chosen) == 2
        for row in linked.candidates:
            assert set(row) == {"id", "label", "source", "score", "grounding"}
            assert row["grounding"] > 0
        assert linked.candidates[0]["id"].endswith("mj_scholar")

    def test_misspelt_names_are_corrected_and_found(self, sources: Sources) -> None:
        question = TEACHER.replace("Bernhard Heiden", "Bernard Hieden")
        talk = teacher_talk(extract=keywords("Bernhard Heiden", proofread=TEACHER))
        assert play(anchorrag(sources), question, talk).answer == "German"
        assert talk.prompts("extract")[0].items("known_names") == ["Bernard Hieden = Bernhard Heiden (Composer)"]
        assert talk.prompts("go_on")[0].text("question") == TEACHER
        assert ask(anchorrag(sources), question).answer == "German"

    def test_a_misspelt_keyword_is_found_by_fuzzy_matching(self, sources: Sources) -> None:
        result = play(anchorrag(sources), TEACHER, teacher_talk(extract=keywords("Bernhard Heidne")))
        assert steps(result, Linked)[0].candidates[0]["source"] == "typo"
        assert result.answer == "German"

    def test_without_grounding_only_the_name_counts(self, sources: Sources) -> None:
        result = play(anchorrag(sources, grounding=False), JORDAN, jordan_talk())
        assert {row["grounding"] for row in steps(result, Linked)[0].candidates} == {0.0}

    def test_k_is_the_number_of_relations_averaged(self, sources: Sources) -> None:
        best, mean = (
            steps(play(anchorrag(sources, top_k=k), JORDAN, jordan_talk()), Linked)[0].candidates[0] for k in (1, 5)
        )
        assert best["grounding"] > mean["grounding"]

    def test_a_single_agent_starts_from_the_best_anchor(self, sources: Sources) -> None:
        result = play(anchorrag(sources, agents=1), JORDAN, jordan_talk())
        assert len(steps(result, Linked)[0].chosen) == 1
        assert any(step.what == "anchors" for step in steps(result, Truncated))
        assert all("Scientist" in step.path or "Michael Jordan →" in step.path for step in steps(result, Expanded))

    def test_every_keyword_gets_its_best_candidate_before_any_gets_a_second(self, sources: Sources) -> None:
        talk = jordan_talk(extract=keywords("Michael Jordan", "Bernhard Heiden"), relations=choose("student of"))
        result = play(anchorrag(sources, agents=2), JORDAN, talk)
        assert [len(step.chosen) for step in steps(result, Linked)] == [1, 1]


@pytest.fixture(scope="module")
def namesakes(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """Many popular people of one name, and an unknown one with the relation that questions ask for."""
    popular = "".join(
        f":s{i} rdfs:label 'John Smith' ; :invented_product {' , '.join(f':p{i}_{j}' for j in range(60))} .\n"
        for i in range(120)
    )
    rare = ":rare rdfs:label 'John Smith' ; :invented :widget . :widget rdfs:label 'Widget' .\n"
    return Sources.of(build_turtle(popular + rare, tmp_path_factory.mktemp("namesakes"), encoder="all-MiniLM-L6-v2"))


class TestAsThePaperRanks:
    def test_eq_2_ranks_all_namesakes_and_the_trace_says_what_is_cut(self, namesakes: Sources) -> None:
        talk = jordan_talk(
            extract=keywords("John Smith"),
            relations=choose("→"),
            entities=lambda p: fields(entities="1: 1"),
            filter=lambda p: fields(relevant="1"),
            judge=lambda _: fields(sufficient="yes"),
            answer=answer("Widget", cite=("→ invented →",)),
        )
        result = play(AnchorRAG(namesakes, preset="paper"), "What did John Smith invent?", talk)
        (linked,) = steps(result, Linked)
        assert f"{EX}rare" in linked.chosen
        assert (result.answer, result.grounded) == ("Widget", True)
        assert ("candidates of John Smith", 100, 121) in [(s.what, s.kept, s.total) for s in steps(result, Truncated)]
        best = max(linked.candidates, key=lambda row: row["grounding"])
        assert best["id"] == f"{EX}rare" and best is linked.candidates[-1], "the others are more popular"


class TestAgents:
    def test_homonyms_are_explored_in_parallel_and_the_facts_decide(self, sources: Sources) -> None:
        talk = jordan_talk()
        result = play(anchorrag(sources), JORDAN, talk)
        assert result.answer == "UC Berkeley"
        anchors = {step.path.split(" →")[0] for step in steps(result, Expanded)}
        assert anchors == {"Michael Jordan (Athlete)", "Michael Jordan (Scientist)"}
        (facts,) = [prompt.items("facts") for prompt in talk.prompts("go_on")]
        assert {fact.split(" →")[0] for fact in facts} == anchors

    def test_an_agent_without_relevant_triples_stops_and_adds_nothing(self, sources: Sources) -> None:
        going = [go_on(("employer",), ("employer",)), go_on(enough=False)]
        talk = jordan_talk(go_on=going, relations=choose())
        result = play(anchorrag(sources), JORDAN, talk)
        stopped = [step.detail for step in steps(result, Stopped) if step.reason == "no_triples"]
        assert stopped[0] == "Michael Jordan (Athlete): nothing relevant at hop 1"
        assert not any("Athlete" in fact for fact in talk.prompts("answer")[0].items("facts"))

    def test_agents_run_at_the_same_time(self, sources: Sources) -> None:
        meet = threading.Barrier(2, timeout=10)

        def say(prompt: Prompt) -> str:
            meet.wait()  # only passes when both agents have asked
            return choose("employer", "plays")(prompt)

        talk = jordan_talk(relations=say)
        assert play(anchorrag(sources, width=1, prefilter=None), JORDAN, talk).answer == "UC Berkeley"

    def test_three_agents_call_a_model_server_in_parallel(self, build: Build) -> None:
        bands = "".join(
            f':m{i} a :Kind{i} ; rdfs:label "Mercury" ; :a :x ; :b :y ; :c :z ; :d :w .\n' for i in range(3)
        )
        labels = "".join(f':{v} rdfs:label "thing {v}" .\n' for v in "xyzw")
        sources = Sources.of(build(bands + labels))
        talk = jordan_talk(
            extract=keywords("Mercury"),
            relations=choose("→ a"),
            go_on=go_on(("→ a",), enough=True),
            answer=answer("thing x", cite=("→ a",)),
        )
        server = stand_in_server(lambda asked: talk(read_request([("user", asked.prompt)])), latency=0.5, slots=16)
        headers = dspy.context(adapter=TolerantAdapter())
        with headers, server as running, running.environment(), session(STAND_IN):
            result = anchorrag(sources, agents=3)(question="What is the a of Mercury?")
        assert result.answer == "thing x"
        assert len(steps(result, Scored)) == running.busiest == 3

    def test_a_failing_agent_loses_only_its_own_paths(self, sources: Sources) -> None:
        def say(prompt: Prompt) -> str:
            return "gibberish" if "Athlete" in prompt.items("paths")[0] else choose("employer")(prompt)

        result = play(anchorrag(sources, width=1, prefilter=None), JORDAN, jordan_talk(relations=say))
        assert result.answer == "UC Berkeley"
        (failed,) = [step for step in steps(result, Stopped) if step.reason == "agent_failed"]
        assert failed.detail.startswith("Michael Jordan (Athlete): ")

    def test_the_question_fails_if_all_agents_fail(self, sources: Sources) -> None:
        talk = jordan_talk(relations=lambda _: "gibberish")
        result = play(anchorrag(sources, width=1, prefilter=None), JORDAN, talk)
        assert (result.abstained, result.reason) == (True, "unreadable_reply")

    def test_agents_share_one_budget(self, sources: Sources) -> None:
        talk = jordan_talk(relations=choose("employer", "plays"))
        with pytest.raises(BudgetExceededError) as caught:
            play(anchorrag(sources, width=1, prefilter=None), JORDAN, talk, Budget(calls=2))
        progress: Any = caught.value.progress
        assert progress["usage"].calls == 2


class TestPruning:
    def test_few_relations_are_all_followed_without_a_model_call(self, sources: Sources) -> None:
        result = play(anchorrag(sources), JORDAN, jordan_talk())
        assert {step.by for step in steps(result, Pruned)} == {"width"}

    def test_a_clear_lead_selects_relations_without_a_model_call(self, sources: Sources) -> None:
        talk = teacher_talk(answer=answer("Frankfurt", cite=("born in",)), go_on=go_on(("born in",), enough=True))
        result = play(anchorrag(sources, width=1, prefilter=0.05), "Where was Bernhard Heiden born?", talk)
        (pruned,) = steps(result, Pruned)
        assert pruned.by == "embedding"
        assert "relations" not in talk.steps

    def test_scores_sum_to_one_and_numbers_that_do_not_exist_are_ignored(self, sources: Sources) -> None:
        talk = teacher_talk(relations=lambda p: fields(relations="2: 0.6\n99: 3\n1: 0.2"))
        result = play(anchorrag(sources, width=2), "Who?", talk)
        (scored,) = steps(result, Scored)
        assert len(scored.scores) == 2
        assert any(not step.passed and "other numbers" in step.reason for step in steps(result, Checked))

    def test_at_most_b_relations_are_kept_per_path(self, sources: Sources) -> None:
        talk = teacher_talk(relations=choose("→"))
        result = play(anchorrag(sources, width=2, prefilter=None), TEACHER, talk)
        assert len(steps(result, Pruned)[0].kept) == 2

    def test_schema_relations_are_not_offered(self, build: Build) -> None:
        twin = Sources.of(
            build(':a rdfs:label "Alpha" ; <http://x.org/sameAs> :b ; :likes :b . :b rdfs:label "Beta" .')
        )
        talk = jordan_talk(extract=keywords("Alpha"), go_on=go_on(("likes",), enough=True), answer=answer("Beta"))
        result = play(anchorrag(twin), "What does Alpha like?", talk)
        assert [step.path for step in steps(result, Expanded)] == ["Alpha → likes"]
        every = play(anchorrag(twin, schema_relations=()), "What does Alpha like?", talk)
        assert len(steps(every, Expanded)) == 2

    def test_at_most_n_entities_are_expanded_and_the_truncation_is_recorded(self, build: Build) -> None:
        films = "".join(f':f{i} rdfs:label "Film {i}" ; :by :d ; :genre :g .\n' for i in range(6))
        sources = Sources.of(build(f'{films} :d rdfs:label "Dee" . :g rdfs:label "Noir" .'))
        talk = jordan_talk(
            extract=keywords("Dee"),
            go_on=[go_on(("by",), ("genre",)), go_on(("genre",), enough=True)],
            answer=answer("Noir", cite=("genre",)),
        )
        result = play(anchorrag(sources, entities=4), "What genre are Dee's films?", talk)
        assert result.answer == "Noir"
        assert any(s.what.startswith("entities: Dee") and (s.kept, s.total) == (4, 6) for s in steps(result, Truncated))

    def test_without_filtering_all_triples_are_kept(self, sources: Sources) -> None:
        result = play(anchorrag(sources, filter_triples=False), JORDAN, jordan_talk(go_on=go_on(enough=True)))
        assert "no_triples" not in reasons(result)
        assert result.answer == "UC Berkeley"


class TestAsThePaperAsks:
    def test_a_call_for_each_entity_each_relation_and_each_agent(self, sources: Sources) -> None:
        talk = teacher_talk(
            relations=[choose("→ student of"), choose("→ instrument", "→ nationality")],
            filter=lambda p: fields(relevant=numbers(p.items("facts"), ("student", "nationality"))),
            judge=[lambda _: fields(sufficient="no"), lambda _: fields(sufficient="yes")],
            entities=lambda p: fields(entities="1: 1"),
        )
        result = play(anchorrag(sources, per_relation_calls=True, width=1, agents=1), TEACHER, talk)
        assert talk.steps == ["extract", *("relations", "filter", "judge") * 2, "answer"]
        assert result.answer == "German"

    def test_only_the_b_best_entities_of_a_relation_are_kept(self, sources: Sources) -> None:
        talk = teacher_talk(
            extract=keywords("Paul Hindemith"),
            relations=choose("→ instrument"),
            entities=lambda p: fields(entities=numbers(p.items("reached"), ("viola",))),
            filter=lambda p: fields(relevant="1"),
            judge=lambda _: fields(sufficient="yes"),
            answer=answer("viola", cite=("instrument",)),
        )
        program = anchorrag(sources, per_relation_calls=True, width=1)
        result = play(program, "Which instrument did Paul Hindemith play?", talk)
        assert talk.prompts("answer")[0].items("facts") == ["Paul Hindemith → instrument → viola | ... 1 more"]
        assert result.answer == "viola"

    def test_insufficient_facts_are_read_before_the_answer_from_memory(self, sources: Sources) -> None:
        talk = teacher_talk(
            filter=lambda p: fields(relevant="1"),
            judge=lambda _: fields(sufficient="no"),
            answer=answer(),
            recall=recall("Austrian"),
        )
        result = play(anchorrag(sources, per_relation_calls=True, depth=1), TEACHER, talk)
        assert (result.answer, result.grounded) == ("Austrian", False)
        assert talk.steps[-3:] == ["judge", "answer", "recall"]


class TestSupervisor:
    def test_verdicts_are_recorded(self, sources: Sources) -> None:
        result = play(anchorrag(sources), TEACHER, teacher_talk())
        assert [step.passed for step in steps(result, Checked) if step.what == "sufficiency"] == [False, True]

    def test_depth_limits_the_iterations(self, sources: Sources) -> None:
        talk = teacher_talk(answer=answer(), recall=recall())
        result = play(anchorrag(sources, depth=1), TEACHER, talk)
        assert {step.hop for step in steps(result, Expanded)} == {1}
        assert talk.steps == ["extract", "answer", "recall"]
        assert (result.abstained, result.reason) == (True, "unknown")

    def test_without_sufficient_facts_the_answer_is_from_memory_and_not_grounded(self, sources: Sources) -> None:
        talk = teacher_talk(go_on=go_on(), recall=recall("Swiss"))
        result = play(anchorrag(sources), TEACHER, talk)
        assert (result.answer, result.grounded, result.evidence) == ("Swiss", False, [])
        assert reasons(result) == ["no_triples", "insufficient"]
        assert steps(result, Answered)[0].grounded is False

    def test_grounded_only_abstains_without_sufficient_facts(self, sources: Sources) -> None:
        talk = teacher_talk(go_on=go_on())
        result = play(anchorrag(sources, grounded_only=True), TEACHER, talk)
        assert (result.abstained, result.reason) == (True, "insufficient")
        assert "recall" not in talk.steps

    def test_a_question_about_nothing_in_the_graph_is_answered_from_memory(self, sources: Sources) -> None:
        talk = Talk(extract=keywords("Zzyzx Qwv"), recall=recall("No idea"))
        result = play(anchorrag(sources), "Who is Zzyzx Qwv?", talk)
        assert (result.answer, result.grounded) == ("No idea", False)
        assert reasons(result)[0] == "no_topic"

    def test_facts_are_read_even_if_never_judged_sufficient(self, sources: Sources) -> None:
        going = [go_on(("student of",), ("→ nationality",)), go_on(("nationality",))]
        result = play(anchorrag(sources), TEACHER, teacher_talk(go_on=going))
        assert result.answer == "German"
        assert "no_path" in reasons(result)

    def test_without_the_assist_facts_are_read_only_if_they_are_judged_sufficient(self, sources: Sources) -> None:
        for verdict, read, said in (("no", 0, "Swiss"), ("yes", 1, "Paul Hindemith")):
            talk = teacher_talk(
                judge=lambda _, verdict=verdict: fields(sufficient=verdict),  # type: ignore[misc]
                answer=answer("Paul Hindemith", cite=("student of",)),
                recall=recall("Swiss"),
            )
            result = play(anchorrag(sources, assist="-unjudged_facts", depth=1), TEACHER, talk)
            assert (result.answer, talk.steps.count("answer")) == (said, read)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"agents": 0}, "agents must be"),
        ({"depth": 0}, "depth must be"),
        ({"schema_relations": ("(",)}, "not a regular"),
    ],
)
def test_options_out_of_range_are_rejected(sources: Sources, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        anchorrag(sources, **options)


def test_the_facts_that_a_judge_names_are_those_of_the_agents(sources: Sources) -> None:
    hop = Hop(0, Direction.OUT)
    values = tuple(range(12))
    facts = [Fact(node, hop, values, len(values), (node, (hop,))) for node in (0, 1)]
    relations = RelationNames(sources.graph, None, "")
    briefing: Any = SimpleNamespace(read=read_question("?", ()), anchors={}, relations=relations, assists=Assists())
    trace = Trace()
    shown, lines = fact_lines(sources.graph, briefing, [facts], 600, trace)
    assert all("more" in line for line in lines)
    assert trace.steps == [Truncated("values offered to a prompt", 16, 2 * len(values))]
    assert [id(fact) for fact in shown] == [id(fact) for fact in facts], "they are compared by identity"
