"""Which steps have a right reply that can be computed, and why others have none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import dspy

from triplecheck.kg import Graph
from triplecheck.lms.prompt import Prompt
from triplecheck.optimize.traces.gold import references
from triplecheck.optimize.traces.gold.answering import answer_from_facts
from triplecheck.optimize.traces.gold.exploration import (
    filter_triples,
    judge_and_go_on,
    judge_sufficiency,
    name_sub_goals,
    reflect,
    score_entities,
    score_relations,
    update_memory,
)
from triplecheck.optimize.traces.gold.patterns import revise_triplets, score_candidate, score_candidates, write_triplets
from triplecheck.optimize.traces.gold.planning import extract_keywords, name_topics, select_paths
from triplecheck.optimize.traces.gold.references import Names
from triplecheck.optimize.traces.gold.reply import Reply, Solver

ANSWERING = "question, topics, facts -> reasoning, cited, operation, answers"
_SOLVERS: Mapping[str, Solver] = {
    "types, question, known_names -> topics, domain": name_topics,
    "question, topics, paths -> keep": select_paths,
    ANSWERING: answer_from_facts,
    "question, known_names -> proofread, keywords": extract_keywords,
    "question, topics, paths, most -> relations, scores": score_relations,
    "question, reached, most -> entities, scores": score_entities,
    "question, topics, facts -> relevant": filter_triples,
    "question, topics, facts -> sufficient": judge_sufficiency,
    "question, topics, facts, paths, most -> relevant, sufficient, follow": judge_and_go_on,
    "question, topics -> goals": name_sub_goals,
    "question, goals, facts -> findings": update_memory,
    "question, findings, topics, followed, paths -> revisit": reflect,
    "types, relations, question, known_names -> triplets, answer": write_triplets,
    "types, relations, question, known_names, failed, reasons -> revised, answer": revise_triplets,
    "question, candidates -> verdicts": score_candidates,
    "question, candidate -> score, reason": score_candidate,
    "question -> reasoning, answers": references.answer_from_memory,
    "question -> known": references.judge_knowledge,
    "question, references -> reasoning, answer": references.answer_with_references,
    "question, references -> answer": references.answer_from_references,
    "question, references, answer_so_far -> next_question": references.next_question,
    "question, entities -> passage": references.write_passage,
    "question, entities -> passage, passage_with_entities": references.write_passages,
    "question, entities, passage -> helps": references.judge_passage,
    "question, entities, passages -> useful": references.select_passages,
    "question, entities, passages -> useful, triples": references.check_passages,
}
"""By the inputs and outputs of a step, as DSPy writes a signature: steps about a question whose answer is known."""


def _passage(graph: Graph, prompt: Prompt, names: Names) -> Reply:
    return Reply({"passage": references.passage_for(graph, prompt, names)}, taught=False)


def _passages(graph: Graph, prompt: Prompt, names: Names) -> Reply:
    passage = references.passage_for(graph, prompt, names)
    return Reply({"passage": passage, "passage_with_entities": "none"}, taught=False)


_BY_GRAPH: Mapping[str, Callable[[Graph, Prompt, Names], Reply]] = {
    "texts, entities -> triples": references.extract_triples,
    "question, entities -> passage": _passage,
    "question, entities -> passage, passage_with_entities": _passages,
}
"""Steps about no question that is known: of texts, and of what `next_question` asks."""

_FROM_MEMORY = "what a model knows by heart is in no graph, and not to be learnt from one"
_NONE_RIGHT = "no reply is the right one"
_REASONS: Mapping[str, str] = {
    "question -> answers": _FROM_MEMORY,
    "question -> evidence, explanation, answer": _FROM_MEMORY,
    "question, names, count -> paraphrases": _NONE_RIGHT,
}


def fields_of(signature: type[dspy.Signature]) -> str:
    """What a step is recognised by: its fields, as DSPy writes them."""
    return f"{', '.join(signature.input_fields)} -> {', '.join(signature.output_fields)}"


def why_not(signature: type[dspy.Signature]) -> str | None:
    """Why the right reply to a step cannot be computed; None: it can."""
    fields = fields_of(signature)
    if fields in _SOLVERS or fields in _BY_GRAPH:
        return None
    return _REASONS.get(fields, "it is none of the steps that are known")


def solver(prompt: Prompt) -> Solver | None:
    """What replies to a prompt about a question whose answer is known."""
    return _SOLVERS.get(prompt.signature)


def by_graph(prompt: Prompt, graph: Graph, names: Names) -> Reply | None:
    """The reply to a prompt about no such question; None where only the answer would tell."""
    solve = _BY_GRAPH.get(prompt.signature)
    return None if solve is None else solve(graph, prompt, names)
