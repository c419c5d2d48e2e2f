"""The assist `plans`: what a question computes, excludes or bounds is computed by a query over the graph.

The step `WriteQuery` writes the query, or `none` if a look-up is enough (`programs.planning`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from triplecheck.kg.ranker import load_ranker
from triplecheck.language.described import asked_class
from triplecheck.language.question import Question
from triplecheck.lms import RolePredict
from triplecheck.programs.assists import Assists
from triplecheck.programs.base import Program
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Trace
from triplecheck.signatures import WriteQuery
from triplecheck.signatures.notation import clean


def query_step(assists: Assists) -> RolePredict | None:
    """The step that writes queries, if they are used."""
    return RolePredict(WriteQuery, role="query") if "plans" in assists else None


def planned(
    program: Program,
    step: RolePredict | None,
    read: Question,
    names: Mapping[int, str],
    tokens: int,
    trace: Trace,
    search: Callable[[], Outcome],
) -> Outcome:
    """What a query computes; what the program's own search finds if no query is needed, or none could be written.

    A look-up is searched for first, and a query is written for it only if the search proves nothing: a path answers it
    as well, with fewer tokens. Where a ranker knows the graph, no query is written for a look-up. Where classes were
    implied (`assists.implied_classes`) and a query for anything else finds nothing, one is written without them.

    Args:
        program: has the graph.
        step: of `query_step`.
        read: the question, with its topics.
        names: the name of each topic node in prompts, in the order of the question's topics.
        tokens: estimated tokens of the relations in the prompt that asks for a query.
        search: the program without queries.
    """
    if step is None:
        return search()
    found = search() if _is_look_up(program, read) else None
    if found is not None:
        if _has_own_ranker(program):
            return found
        judged = program.with_verdict(read.text, found, trace)
        if judged.verdict == "proved":
            return judged
    from triplecheck.programs.planning import Planning  # rdflib is slow to import

    spelt = [topic.spelling if topic.spelling != topic.name else "" for topic in read.topics]
    topics = {node: (name, spelling) for (node, name), spelling in zip(names.items(), spelt, strict=True)}
    planning = Planning(program, step, read, topics, tokens, trace)
    computed = planning.outcome()
    is_unanswered = computed is None or computed.abstained is not None
    if found is None and is_unanswered and planning.has_implied_classes:
        computed = Planning(program, step, read, topics, tokens, trace, implied=False).outcome() or computed
    if computed is None:
        return search() if found is None else found
    if computed.abstained is not None and found is not None and found.abstained is None:
        return found
    return computed


def _is_look_up(program: Program, read: Question) -> bool:
    """Whether a question asks for the end of a path from its one topic."""
    one = len({topic.spelling or topic.name for topic in read.topics}) == 1
    graph = program.graph
    return one and not read.computes and not asked_class(read, [clean(graph.type_label(id)) for id in graph.type_ids])


def _has_own_ranker(program: Program) -> bool:
    """Whether a ranker of paths knows the graph: it gains on questions that were held out."""
    own = program.sources.own_ranker
    return own is not None and load_ranker(own).gains
