"""`complete_citations`: the facts that an operation runs over, where the model cited too few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from triplecheck.kg import Direction, Graph, normalize
from triplecheck.kg.relation_vectors import RelationVectors
from triplecheck.language.question import Question
from triplecheck.programs.aggregation import EXTREMES, is_measured, terminal
from triplecheck.programs.assists.table import Assists
from triplecheck.programs.conclusion import Conclusion
from triplecheck.programs.subgraph import Fact, Hop, PathKey, Subgraph, reached

_TRIED = 20  # relations that are looked at for numbers or dates


def complete_citations(
    assists: Assists, conclusion: Conclusion, operation: str, written: Sequence[str]
) -> tuple[list[Fact], list[list[Fact]]]:
    """The facts that an operation runs over, and others that a count may have meant; first those at the ends of paths.

    Args:
        assists: those in use.
        conclusion: what the model cited.
        operation: what is computed.
        written: the answers that the model wrote too.
    """
    cited = conclusion.cited
    if "complete_citations" not in assists:
        return terminal(cited), []
    reading = conclusion.reading
    relations = conclusion.program.sources.relations
    operands = Operands(conclusion.graph, reading.subgraph, conclusion.asked, relations)
    found = operands.of(operation, cited, is_written=bool(written))
    before, after = (conclusion.lines_of(facts) for facts in (terminal(cited), found))
    assists.note(conclusion.trace, "complete_citations", "AnswerFromFacts", before, after)
    return found, list(operands.on_the_way(found)) if operation == "count" else []


class Operands:
    """The facts that operations run over.

    Args:
        graph: the graph.
        subgraph: everything that was retrieved.
        question: the question.
        relations: the vectors of the graph's relations; None to look nothing up.
    """

    def __init__(self, graph: Graph, subgraph: Subgraph, question: Question, relations: RelationVectors | None) -> None:
        self._graph = graph
        self._subgraph = subgraph
        self._question = question
        self._relations = relations

    def of(self, operation: str, cited: Sequence[Fact], *, is_written: bool) -> list[Fact]:
        """The facts of an operation.

        A count runs over the things of the class that the question asks for. If the cited facts go on from such things,
        these are counted: the directors of an actor's films tell how many films there are.

        What several topics have in common is what the cited facts from each of them lead to, however far from it: the
        novels of a writer, and those that a character is in. If the cited facts are about one topic only, or share
        nothing, they are replaced by the retrieved facts that lead from every topic to one of their values.

        An extreme needs values to compare:

        - If the values belong to several relations, those of the relation most similar to the question are taken.
        - If there is one value, the model cited only the winner, or the first of a list. All facts with the same
          relations are taken, from every topic.
        - "The oldest sibling of X" compares the siblings only: the value of X itself is left out.
        - Facts that lead back to their topic ("the author of her novel") stand for the things that they start from.
        - If the model cited things without their values, and wrote no answer, the values are taken from the retrieved
          facts. If these have none, or those of several relations, the values are looked up in the graph.

        Args:
            operation: what is computed.
            cited: the facts that the model cited.
            is_written: whether the model wrote an answer too.
        """
        ends = self._not_back(terminal(cited))
        if operation == "count":
            return self._of_kind(ends) or ends
        if operation == "common":
            return self._met(_shared(cited, ends) or ends, cited)
        if operation not in EXTREMES or not ends:
            return ends
        measured = self._not_itself(self._of_one_relation([fact for fact in ends if is_measured(self._graph, fact)]))
        if len(measured) == 1 == len(measured[0].values):
            return [fact for fact in self._subgraph.facts if fact.path[1] == measured[0].path[1]]
        if is_written or measured:
            return measured or ends
        things = {value for fact in ends for value in fact.values} | {fact.anchor for fact in ends}
        values = [fact for fact in self._subgraph.facts if fact.anchor in things and is_measured(self._graph, fact)]
        return values if len({fact.hop for fact in values}) == 1 else (self._looked_up(ends) or ends)

    def _met(self, facts: list[Fact], cited: Sequence[Fact]) -> list[Fact]:
        """The facts, if those of several topics share a value.

        Else the retrieved facts that lead from every topic to a value of a cited fact; if there are none, the facts.
        """
        if len(ends := _besides_topics(facts)) > 1 and set.intersection(*ends.values()):
            return facts
        near = [fact for fact in self._subgraph.facts if len(fact.path[1]) == 1]
        of_names: dict[str, set[int]] = {}  # homonyms are one topic
        for topic, values in _besides_topics(near).items():
            of_names.setdefault(normalize(self._graph.label(topic)), set()).update(values)
        shared = set.intersection(*of_names.values()) if len(of_names) > 1 else set()
        shared &= {value for fact in cited for value in fact.values}
        return [fact for fact in near if not shared.isdisjoint(fact.values)] or facts

    def _not_back(self, facts: list[Fact]) -> list[Fact]:
        """The facts; if all of them lead back to their topic, those that lead to the things they start from."""
        if not all(fact.values == (fact.path[0],) and len(fact.path[1]) > 1 for fact in facts):
            return facts
        paths = dict.fromkeys((fact.path[0], fact.path[1][:-1]) for fact in facts)
        return [fact for path in paths for fact in self._subgraph.on(path)]

    def _not_itself(self, facts: list[Fact]) -> list[Fact]:
        """The facts that are not about the topic; all, if none would be left or the question compares the topic too."""
        topics = {fact.path[0] for fact in self._subgraph.facts}
        if len(topics) > 1 or self._question.sets_beside:
            return facts
        return [fact for fact in facts if fact.anchor not in topics] or facts

    def _of_one_relation(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts with the relation most similar to the question: a year cannot be compared with a height."""
        relations = {fact.hop.relation for fact in facts}
        if self._relations is None or len(relations) < 2:
            return list(facts)
        similar = self._relations.against(self._question.text)
        best = max(relations, key=lambda relation: float(similar[relation]))
        return [fact for fact in facts if fact.hop.relation == best]

    def _of_kind(self, facts: Sequence[Fact]) -> list[Fact]:
        """The facts whose values are of the class that the question asks for.

        If a fact goes on from such a thing, the fact that leads to the thing is taken in its place.
        """
        found = [fact for fact in facts if fact.hop.kind is not None]
        for path in dict.fromkeys(fact.path for fact in facts):
            topic, hops = path
            if len(hops) < 2 or hops[-1].kind is not None or hops[-2].kind is None:
                continue
            things = {fact.anchor for fact in facts if fact.path == path}
            for fact in self._subgraph.on((topic, hops[:-1])):
                values = tuple(value for value in fact.values if value in things)
                if values:
                    found.append(replace(fact, values=values, total=len(values)))
        return list(dict.fromkeys(found))

    def _looked_up(self, facts: Sequence[Fact]) -> list[Fact]:
        """Look up numbers or dates of the things that facts lead to, by the relation most similar to the question."""
        things = {value: fact for fact in facts for value in fact.values}
        if self._relations is None or len(things) < 2:
            return []
        similar = self._relations.against(self._question.text)
        counts = [count for count in self._graph.relation_counts(list(things)) if count.direction is Direction.OUT]
        for count in sorted(counts, key=lambda count: -float(similar[count.relation]))[:_TRIED]:
            if count.nodes < 2:
                continue
            hop = Hop(count.relation, Direction.OUT)
            edges = self._graph.expand(list(things), count.relation, Direction.OUT)
            values: dict[int, list[int]] = {}
            for head, tail in zip(edges.heads.tolist(), edges.tails.tolist(), strict=True):
                values.setdefault(head, []).append(tail)
            found = [
                Fact(thing, hop, tuple(ends), len(ends), _further(things[thing].path, hop))
                for thing, ends in values.items()
            ]
            if all(is_measured(self._graph, fact) for fact in found):
                return found
        return []

    def on_the_way(self, facts: Sequence[Fact]) -> Iterator[list[Fact]]:
        """For each shorter path that leads to the given facts, the facts at its end."""
        for topic, hops in dict.fromkeys(fact.path for fact in facts):
            for length in range(1, len(hops)):
                yield self._subgraph.on((topic, hops[:length]))


def _shared(cited: Sequence[Fact], ends: Sequence[Fact]) -> list[Fact]:
    """Of the cited facts those that lead to what several topics share, if the facts at the ends are about one topic."""
    of_topics = _besides_topics(cited)
    if len(of_topics) < 2 or len({fact.path[0] for fact in ends}) > 1:
        return []
    shared = set.intersection(*of_topics.values())
    return [fact for fact in cited if not shared.isdisjoint(fact.values)]


def _besides_topics(facts: Sequence[Fact]) -> dict[int, set[int]]:
    """For each topic of the facts, the nodes that its facts lead to, without the topics."""
    found = reached(facts)
    return {topic: nodes - found.keys() for topic, nodes in found.items()}


def _further(path: PathKey, hop: Hop) -> PathKey:
    topic, hops = path
    return topic, (*hops, hop)
