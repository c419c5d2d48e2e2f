"""Gold replies to the steps of every system: the answers they lead to, and the rows they give."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dspy
import pytest
from optimize_parts import world_question as question
from program_parts import EX, node

from triplecheck import signatures
from triplecheck.evals import Question
from triplecheck.kg import Direction, KnowledgeBase, UserError
from triplecheck.lms import session
from triplecheck.lms.local.form import as_numbers, fields_of
from triplecheck.lms.local.guide import dictated
from triplecheck.lms.prompt import Prompt, split_fields
from triplecheck.optimize.traces import TraceManifest, TraceRow, collect, read_traces
from triplecheck.optimize.traces.gold.engine import GoldEngine, check_computable, gold_engine, uncomputable, why_not
from triplecheck.optimize.traces.gold.known import GoldReply
from triplecheck.optimize.traces.gold.references import edges_in, question_for, sentence, stated
from triplecheck.optimize.traces.verification import rejection
from triplecheck.programs import Sources, resolve_program
from triplecheck.programs.outcome import evidence_rows
from triplecheck.programs.steps import Consulted
from triplecheck.programs.subgraph import Hop
from triplecheck.signatures import STEPS

TAUGHT = question("Who taught Bernhard Heiden?", ["heiden"], ["hindemith"], [[("studentOf", "out")]])
FROM = question(
    "What nationality has the teacher of Bernhard Heiden?",
    ["heiden"],
    ["german"],
    [[("studentOf", "out"), ("nationality", "out")]],
)
BOTH = question(
    "Which German was born in Frankfurt?",
    ["german", "frankfurt"],
    ["sekles"],
    [[("nationality", "in")], [("bornIn", "in")]],
)
BIGGER = question(
    "Which is bigger, Frankfurt or Hanau?",
    ["frankfurt", "hanau"],
    ["frankfurt"],
    [[("population", "out")], [("population", "out")]],
)
SMALLEST = question(
    "Which city of Germany is the smallest?",
    ["germany"],
    ["hanau"],
    [[("country", "in"), ("population", "out")]],
)
COUNT = question(
    "How many instruments does Paul Hindemith play?", ["hindemith"], ["2"], [[("instrument", "out")]], computed=True
)
NOBODY = question("Who taught Silent Hermit?", ["hermit"], [])
EVERY = (TAUGHT, FROM, BOTH, BIGGER, SMALLEST, COUNT, NOBODY)

# What a system cannot do, whatever is replied: the pattern system neither counts nor compares two that are named.
SYSTEMS: dict[str, tuple[dict[str, Any], tuple[Question, ...]]] = {
    "kerag": ({}, EVERY),
    "kerag without plans": ({"assist": "-plans"}, EVERY),
    "anchorrag": ({"prefilter": None, "width": 2, "assist": "-plans"}, EVERY),
    "anchorrag asking for each": ({"per_relation_calls": True, "width": 2, "assist": "-plans"}, EVERY),
    "4stepfocus": ({}, (TAUGHT, FROM, BOTH, SMALLEST, NOBODY)),
    "4stepfocus one by one": ({"rerank": "each"}, (TAUGHT, FROM, BOTH, SMALLEST)),
    "know3rag": ({"relevance_check": True}, EVERY),
    "know3rag as in the paper": ({"paper_calls": True, "relevance_check": True}, EVERY),
    "tog": ({"assist": "-plans"}, EVERY),
    "pog": ({"width": 2, "assist": "-plans"}, EVERY),
}


Collected = dict[str, tuple[TraceManifest, list[TraceRow]]]


@pytest.fixture(scope="module")
def collected(world: KnowledgeBase, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    found = {}
    for name, (options, asked) in SYSTEMS.items():
        out = tmp_path_factory.mktemp("traces") / "out"
        program = resolve_program(name.split()[0])(Sources.of(world), **options)
        found[name] = collect(program, asked, out, passes=["gold"], cap=40), read_traces(out)
    return found


def engine(world: KnowledgeBase, *questions: Question) -> GoldEngine:
    return GoldEngine(Sources.of(world), questions, 2)


def reply(world: KnowledgeBase, asked: Question, outputs: str, **inputs: str | list[str]) -> GoldReply:
    """The right reply to a prompt about a question, first if no input is: inputs in order, lists as in prompts."""
    written = {
        name: value if isinstance(value, str) else "\n".join(f"[{n}] {item}" for n, item in enumerate(value, 1))
        for name, value in (inputs if "question" in inputs else {"question": asked.question, **inputs}).items()
    }
    right = answered(world, asked, Prompt(written, _with_optional(written, outputs.split(", "))))
    assert right is not None
    return right


def _with_optional(inputs: Mapping[str, str], required: list[str]) -> tuple[str, ...]:
    """The output fields of the step with these inputs and these required outputs."""
    for step in STEPS:
        needed = [name for name, field in step.output_fields.items() if field.is_required()]
        if list(step.input_fields) == list(inputs) and needed == required:
            return tuple(step.output_fields)
    return tuple(required)


def answered(world: KnowledgeBase, asked: Question, prompt: Prompt) -> GoldReply | None:
    return engine(world, asked).reply(prompt.step(signatures.STEPS), prompt)


# --- every system --------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SYSTEMS)
def test_correct_replies_lead_every_system_to_proved_answers(collected: Collected, name: str) -> None:
    manifest, _ = collected[name]
    (about,) = manifest.passes.values()
    assert (about["kept"], about["rejected"]) == (len(SYSTEMS[name][1]), {})


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_guided_model_could_have_written_every_reply(collected: Collected, name: str) -> None:
    for row in collected[name][1]:
        # A guided model writes no scores.
        reply = re.sub(r"(?<=\]\]\n)(?:\d+: [\d.]+\n)+", _numbers, str(row.messages[-1]["content"]))
        assert taught(row) == reply.rstrip("\n"), row.signature


def _numbers(scores: re.Match[str]) -> str:
    return ", ".join(line.partition(":")[0] for line in scores[0].splitlines()) + "\n"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_taught_step_of_a_system_has_rows(collected: Collected, name: str) -> None:
    expected = {
        "kerag": "AnswerFromFacts NameTopics SelectPaths WriteQuery",
        "kerag without plans": "AnswerFromFacts NameTopics SelectPaths",
        "anchorrag": "AnswerFromFacts AnswerFromMemory ExtractKeywords JudgeAndGoOn ScoreRelations",
        "anchorrag asking for each": "AnswerFromFacts AnswerFromMemory ExtractKeywords FilterTriples JudgeSufficiency "
        "ScoreRelations",
        "4stepfocus": "ScoreCandidates TripletsFromQuery",
        "4stepfocus one by one": "ScoreCandidate TripletsFromQuery",
        "know3rag": "AnswerFromMemory AnswerWithReferences CheckPassages ExtractTriples NextQuestion",
        "know3rag as in the paper": "AnswerFromMemory AnswerWithReferences ExtractTriples JudgePassage NextQuestion",
        "tog": "AnswerFromFacts AnswerFromMemory JudgeSufficiency NameTopics ScoreEntities ScoreRelations",
        "pog": "AnswerFromFacts AnswerFromMemory JudgeSufficiency NameSubGoals NameTopics Reflect ScoreEntities "
        "ScoreRelations UpdateMemory",
    }
    assert {row.signature for row in collected[name][1]} == set(expected[name].split())


def test_every_step_there_is_can_be_computed_or_it_is_said_why_not() -> None:
    reasons = {step.__name__: why for step in signatures.STEPS if (why := why_not(step)) is not None}
    assert set(reasons) == {
        "AnswerDirectly",
        "AnswerWithTriples",
        "MatchWords",
        "ParaphraseQuestion",
        "RewriteFollowUp",
    }
    assert "the graph does not show" in reasons["AnswerDirectly"]


def test_a_program_that_answers_from_memory_is_rejected_with_the_reason(world: KnowledgeBase) -> None:
    program = resolve_program("io")(Sources.of(world))
    assert list(uncomputable(program)) == ["AnswerDirectly"]
    with pytest.raises(UserError, match="AnswerDirectly: the graph does not show what a model knows"):
        check_computable(program)


# --- what is taught ------------------------------------------------------------------------------
def test_passages_that_are_in_no_prompt_are_not_training_data(collected: Collected) -> None:
    manifest, rows = collected["know3rag"]
    assert manifest.left_out["beyond_prompt"] > 0
    assert "WritePassages" not in {row.signature for row in rows}
    from_memory = [row.messages[-1]["content"] for row in rows if row.signature == "AnswerFromMemory"]
    assert from_memory and all("[[ ## answers ## ]]\nnone" in text for text in from_memory)


def test_distractors_are_taken_and_not_taught(world: KnowledgeBase, tmp_path: Path) -> None:
    program = resolve_program("kerag")(Sources.of(world), hops=2)
    facts = {}
    for distractors in (0, 2):
        out = tmp_path / str(distractors)
        collect(program, [TAUGHT], out, passes=["gold"], distractors=distractors)
        rows = read_traces(out)
        assert {(row.source, row.model) for row in rows} == {("gold", "gold")}
        first, *further, last = (row for row in rows if row.signature in ("SelectPaths", "AnswerFromFacts"))
        (right,) = [line[1] for line in first.messages[1]["content"].splitlines() if "Heiden → student of" in line]
        assert f"]]\n{right}\n" in first.messages[-1]["content"]
        assert further and all("]]\nnone\n" in row.messages[-1]["content"] for row in further)
        assert "Paul Hindemith" in last.messages[-1]["content"]
        facts[distractors] = last.messages[1]["content"].count(" → ")
    assert facts[2] > facts[0]


def test_a_pattern_over_a_relation_that_is_not_listed_is_not_taught(world: KnowledgeBase) -> None:
    def patterns(*relations: str) -> GoldReply:
        schema = {"types": [], "relations": list(relations)}
        known = ["Bernhard Heiden (Composer)"]
        return reply(world, FROM, "triplets, answer", **schema, question=FROM.question, known_names=known)

    listed = patterns("student of / teacher", "nationality: Person to X")
    missing = patterns("student of: Composer to Composer")
    lines = ["<Bernhard Heiden> <student of> ?y1", "?y1 <nationality> ?x"]
    assert listed == GoldReply({"triplets": lines, "answer": "?x"})
    assert missing.outputs == listed.outputs and not missing.taught


# --- single steps --------------------------------------------------------------------------------
def test_keywords_are_spelt_as_in_the_graph_and_what_follows_is_recognised(world: KnowledgeBase) -> None:
    wrong = question("Who taught Bernhard Hieden?", ["heiden"], ["hindemith"], [[("studentOf", "out")]])
    known = ["Bernhard Hieden = Bernhard Heiden (Composer)"]
    right = reply(world, wrong, "proofread, keywords", known_names=known)
    assert right.outputs == {"proofread": TAUGHT.question, "keywords": ["Bernhard Heiden"]}
    inputs = {"question": TAUGHT.question, "topics": "[1] Bernhard Heiden", "paths": "[1] Bernhard Heiden → student of"}
    after = answered(world, wrong, Prompt(inputs, ("reasoning", "keep")))
    assert after is not None and after.outputs == {"keep": [1]}


@pytest.mark.parametrize(
    "before", ["Could you tell me who", "I am new here, so who", "I am new here. Could you tell me who"]
)
def test_a_question_is_recognised_as_a_program_words_it(world: KnowledgeBase, before: str) -> None:
    polite = question(f"{before} taught Bernhard Heiden?", ["heiden"], ["hindemith"], [[("studentOf", "out")]])
    program = resolve_program("kerag")(Sources.of(world))
    with gold_engine(program, [polite]) as (name, _), session(name):
        assert program(question=polite.question).answer == "Paul Hindemith"


def test_facts_suffice_when_they_hold_the_path_to_its_end(world: KnowledgeBase) -> None:
    first, second = "Bernhard Heiden → student of → Paul Hindemith", "Paul Hindemith → nationality → German"
    other = "Paul Hindemith → instrument → viola | piano"
    shown = {"topics": ["Bernhard Heiden"]}
    paths = ["Bernhard Heiden → student of → instrument (2)", "Bernhard Heiden → student of → nationality (1)"]
    half = shown | {"facts": [first, other]}
    assert not reply(world, FROM, "sufficient", **half).outputs["sufficient"]
    assert reply(world, FROM, "sufficient", **shown, facts=[first, second]).outputs["sufficient"]
    assert reply(world, FROM, "relevant, sufficient, follow", **half, paths=paths, most="3").outputs == {
        "relevant": [1],
        "sufficient": False,
        "follow": [2],
    }


def test_facts_of_a_later_hop_are_relevant_by_themselves(world: KnowledgeBase) -> None:
    facts = ["Paul Hindemith → instrument → viola | piano", "Paul Hindemith → nationality → German"]
    assert reply(world, FROM, "relevant", topics=["Bernhard Heiden"], facts=facts).outputs == {"relevant": [2]}


def test_what_is_found_is_written_down_for_each_goal(world: KnowledgeBase) -> None:
    goals = reply(world, FROM, "goals", topics=["Bernhard Heiden"]).outputs["goals"]
    facts = ["Bernhard Heiden → student of → Paul Hindemith"]
    assert reply(world, FROM, "findings", goals=goals, facts=facts).outputs["findings"] == ["Paul Hindemith", "unknown"]


def test_a_set_aside_path_is_revisited_only_if_no_followed_path_leads_to_the_answer(world: KnowledgeBase) -> None:
    def revisit(*followed: str) -> object:
        aside = ["Bernhard Heiden → born in (1)", "Bernhard Heiden → student of (1)"]
        inputs = {"findings": ["?: unknown"], "topics": ["Bernhard Heiden"], "followed": list(followed), "paths": aside}
        return reply(world, FROM, "revisit", **inputs).outputs["revisit"]

    assert revisit("Bernhard Heiden → date of birth") == [2]
    assert revisit("Bernhard Heiden → student of → nationality") == []


def test_one_of_two_conditions_is_no_answer(world: KnowledgeBase) -> None:
    shown = {"topics": ["German", "Frankfurt"]}
    german = "German ← nationality ← Paul Hindemith | Bernhard Sekles"
    born = "Frankfurt ← born in ← Bernhard Heiden | Bernhard Sekles"
    outputs = "reasoning, cited, operation, answers"
    assert reply(world, BOTH, outputs, **shown, facts=[german]).outputs["answers"] == []
    both = reply(world, BOTH, outputs, **shown, facts=[german, born]).outputs
    assert (set(both["cited"]), both["operation"], both["answers"]) == ({1, 2}, "common", ["Bernhard Sekles"])


def test_candidates_are_distinguished_by_name(world: KnowledgeBase) -> None:
    candidates = ["Paul Hindemith (Composer). A violist.", "Paul Hindemith Society (Club)", "Lukas Foss"]
    right = reply(world, TAUGHT, "verdicts", candidates=candidates)
    assert right == GoldReply({"verdicts": ["1: 1 fits", "2: 0 no", "3: 0 no"]})
    homonyms = reply(world, TAUGHT, "verdicts", candidates=["Paul Hindemith (Composer)", "Paul Hindemith (Painter)"])
    assert not homonyms.taught


def test_what_is_missing_is_asked_for(world: KnowledgeBase) -> None:
    stated_first = ["Bernhard Heiden is a student of Paul Hindemith."]
    asked = reply(world, FROM, "next_question", references=stated_first, answer_so_far="unknown")
    assert asked.taught and asked.outputs["next_question"] == "What is the nationality of Paul Hindemith?"


# --- sentences -----------------------------------------------------------------------------------
def test_every_edge_is_read_back_from_its_sentence(world: KnowledgeBase) -> None:
    graph = world.graph
    for head in range(graph.num_entities):
        edges = graph.expand([head], None, Direction.OUT, 20)
        for relation, tail in zip(edges.relations.tolist(), edges.tails.tolist(), strict=True):
            edge, text = (head, relation, tail), sentence(graph, (head, relation, tail))
            found, whole = stated(graph, text, edges_in(graph, text, [head]))
            assert edge in found and whole, text


def test_what_else_a_text_says_is_noticed(world: KnowledgeBase) -> None:
    graph = world.graph
    relation = graph.find_relation(EX + "studentOf")
    assert relation is not None
    edge = (node(graph, "heiden"), relation, node(graph, "hindemith"))
    found, whole = stated(graph, f"{sentence(graph, edge)} He was born in Frankfurt.", [edge])
    assert found == [edge] and not whole
    assert question_for(graph, edge[0], Hop(relation, Direction.OUT), [edge[2]]).startswith("Wh")


# --- verification --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("passages", "expected"),
    [
        ([("Bernhard Heiden is a student of Paul Hindemith.", "kept")], None),
        ([("Bernhard Heiden is a student of Paul Hindemith.", "irrelevant")], "cited_not_retrieved"),
        ([("Paul Hindemith taught.", "kept"), ("Bernhard Heiden studied.", "kept")], "cited_not_retrieved"),
    ],
)
def test_a_cited_triple_was_read_where_a_kept_passage_names_both_ends(
    world: KnowledgeBase, passages: list[tuple[str, str]], expected: str | None
) -> None:
    graph = world.graph
    relation = graph.find_relation(EX + "studentOf")
    assert relation is not None
    evidence = evidence_rows(graph, [(node(graph, "heiden"), relation, node(graph, "hindemith"))])
    read = [Consulted(1, "corpus", text, True, None, verdict) for text, verdict in passages]
    prediction = dspy.Prediction(evidence=evidence, retrieved=frozenset(), steps=read)
    row = {"status": "ok", "f1": 1.0, "hit": 1.0}
    assert rejection(graph, TAUGHT, row, prediction, ()) == expected


# --- parts ---------------------------------------------------------------------------------------
class Characters:
    """A vocabulary of single characters, and the mark `[[`."""

    MARK, END = -1, -2
    ends = frozenset({END})
    digits = frozenset(map(ord, "0123456789"))
    commas = frozenset(map(ord, " ,"))
    point = frozenset({ord(".")})
    minus = frozenset({ord("-")})

    def text(self, token: int) -> str:
        return {self.MARK: "[[", self.END: ""}[token] if token < 0 else chr(token)

    def encode(self, text: str) -> list[int]:
        return [self.MARK if c == "\0" else ord(c) for c in text.replace("[[", "\0")]


def taught(row: TraceRow) -> str:
    """The reply of a row as a guided model writes it, with numbers put back."""
    *asked, (_, reply) = [(str(message["role"]), str(message["content"])) for message in row.messages]
    fields = fields_of(asked)
    values = split_fields(reply, [field.name for field in fields])
    words = Characters()
    tokens = dictated(fields, [values[field.name] for field in fields], words, 10_000, 10_000)
    return as_numbers(fields, "".join(map(words.text, tokens or [])))
