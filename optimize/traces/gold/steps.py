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
from triplecheck.optimize.traces.gold.reply import GoldReply, Solver
from triplecheck.signatures import (
    AnswerDirectly,
    AnswerFromFacts,
    AnswerFromMemory,
    AnswerFromReferences,
    AnswerWithReferences,
    AnswerWithTriples,
    CheckPassages,
    ExtractKeywords,
    ExtractTriples,
    FilterTriples,
    JudgeAndGoOn,
    JudgeKnowledge,
    JudgePassage,
    JudgeSufficiency,
    NameSubGoals,
    NameTopics,
    NextQuestion,
    ParaphraseQuestion,
    Reflect,
    ReviseTriplets,
    ScoreCandidate,
    ScoreCandidates,
    ScoreEntities,
    ScoreRelations,
    SelectPassages,
    SelectPaths,
    Step,
    TripletsFromQuery,
    UpdateMemory,
    WritePassage,
    WritePassages,
    step_of,
)

_SOLVERS: Mapping[type[Step], Solver] = {
    NameTopics: name_topics,
    SelectPaths: select_paths,
    AnswerFromFacts: answer_from_facts,
    ExtractKeywords: extract_keywords,
    ScoreRelations: score_relations,
    ScoreEntities: score_entities,
    FilterTriples: filter_triples,
    JudgeSufficiency: judge_sufficiency,
    JudgeAndGoOn: judge_and_go_on,
    NameSubGoals: name_sub_goals,
    UpdateMemory: update_memory,
    Reflect: reflect,
    TripletsFromQuery: write_triplets,
    ReviseTriplets: revise_triplets,
    ScoreCandidates: score_candidates,
    ScoreCandidate: score_candidate,
    AnswerFromMemory: references.answer_from_memory,
    JudgeKnowledge: references.judge_knowledge,
    AnswerWithReferences: references.answer_with_references,
    AnswerFromReferences: references.answer_from_references,
    NextQuestion: references.next_question,
    WritePassage: references.write_passage,
    WritePassages: references.write_passages,
    JudgePassage: references.judge_passage,
    SelectPassages: references.select_passages,
    CheckPassages: references.check_passages,
}
"""Steps about a question whose answer is known."""


def _passage(graph: Graph, prompt: Prompt, names: Names) -> GoldReply:
    return GoldReply({"passage": references.passage_for(graph, prompt, names)}, taught=False)


def _passages(graph: Graph, prompt: Prompt, names: Names) -> GoldReply:
    passage = references.passage_for(graph, prompt, names)
    return GoldReply({"passage": passage, "passage_with_entities": "none"}, taught=False)


_BY_GRAPH: Mapping[type[Step], Callable[[Graph, Prompt, Names], GoldReply]] = {
    ExtractTriples: references.extract_triples,
    WritePassage: _passage,
    WritePassages: _passages,
}
"""Steps about no question that is known: of texts, and of what `next_question` asks."""

_FROM_MEMORY = "what a model knows by heart is in no graph, and not to be learnt from one"
_NONE_RIGHT = "no reply is the right one"
_REASONS: Mapping[type[Step], str] = {
    AnswerDirectly: _FROM_MEMORY,
    AnswerWithTriples: _FROM_MEMORY,
    ParaphraseQuestion: _NONE_RIGHT,
}


KNOWN: tuple[type[Step], ...] = tuple(dict.fromkeys((*_SOLVERS, *_BY_GRAPH)))
"""The steps whose right reply can be computed."""


def why_not(signature: type[dspy.Signature]) -> str | None:
    """Why the right reply to a step cannot be computed; None: it can."""
    step = step_of(signature)
    if step in KNOWN:
        return None
    return _REASONS.get(step, "it is none of the known steps") if step else "it is none of the known steps"


def solver(step: type[Step]) -> Solver | None:
    """What replies to a prompt about a question whose answer is known."""
    return _SOLVERS.get(step)


def by_graph(step: type[Step], prompt: Prompt, graph: Graph, names: Names) -> GoldReply | None:
    """The reply to a prompt about no such question; None where only the answer would tell."""
    solve = _BY_GRAPH.get(step)
    return None if solve is None else solve(graph, prompt, names)
