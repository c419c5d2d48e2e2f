"""From facts to a checked outcome: the model answers, and each answer is found in the facts or computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from triplecheck.kg import Direction, Graph, Words, normalize
from triplecheck.kg.types import Edge
from triplecheck.kg.values import Quantity, mentions, quantity, value_of
from triplecheck.kg.values.units import OWN, own_unit
from triplecheck.language.question import Question
from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.programs.aggregation import NotComputableError, aggregate, is_measured, terminal
from triplecheck.programs.assists.doubts import YES_NO, opposite_extreme
from triplecheck.programs.assists.matched_words import WordMatcher, in_matched_words
from triplecheck.programs.assists.plans import query_step
from triplecheck.programs.assists.shared import without_topics
from triplecheck.programs.base import AnySources, Program
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.matching import AnswerMatcher
from triplecheck.programs.options import AnsweringOptions, ProgramOptions
from triplecheck.programs.outcome import Outcome, abstention
from triplecheck.programs.steps import Checked, Computed, Stopped, Trace, Wrote
from triplecheck.programs.subgraph import Fact, Subgraph
from triplecheck.signatures.notation import split_edge

_TEMPERATURE = 0.7  # of samples
# To tell whether a relation has one value per entity: entities that are looked at, the fewest of them that tell it,
# and the share of them that may have more.
_SAMPLED, _LEAST_SAMPLE, _SEVERAL = 500, 5, 0.02


@dataclass(frozen=True)
class Reading:
    """What a model reads when it answers from facts.

    Attributes:
        topics: the name of each topic node in the prompt.
        shown: the topics as the prompt shows them.
        subgraph: everything that was retrieved.
        facts: those in the prompt, in its order.
        lines: the facts in words, parallel to `facts`.
        names: the text of each node in the prompt.
    """

    question: str
    topics: Mapping[int, str]
    shown: Sequence[str]
    subgraph: Subgraph
    facts: Sequence[Fact]
    lines: Sequence[str]
    names: dict[int, str]


class AnsweringProgram(Program):
    """A program whose model answers from facts; `answer_from_facts` concludes from the reply."""

    Options: ClassVar[type[ProgramOptions]] = AnsweringOptions
    options: AnsweringOptions

    def __init__(self, sources: AnySources, **options: Any) -> None:
        super().__init__(sources, **options)
        self.write_query = query_step(self.assists)
        self.words = WordMatcher(self.options)

    def attempt(self, question: str, trace: Trace) -> Outcome:
        """As `Program.attempt`; where that proves nothing, with the help of `assists.matched_words`."""
        return in_matched_words(self.assists, self, self.words.step, question, super().attempt(question, trace), trace)


def answer_from_facts(program: AnsweringProgram, step: RolePredict, reading: Reading, trace: Trace) -> Outcome:
    """Ask for an answer from facts, check it against them, and compute what it asks to be computed.

    Args:
        program: its graph is checked against, and its options say which answers are given.
        step: made by `assists.doubts.answering_step`.
    """
    samples = program.options.samples
    if samples == 1:
        return _answered(program, step, reading, trace)
    branches = [trace.branch() for _ in range(samples)]
    found: list[Outcome | None] = []
    unread: ModelReplyError | None = None
    for number, branch in enumerate(branches):
        # The first sample is the answer as it would be alone; a rollout id makes each other a call of its own.
        config = {"temperature": _TEMPERATURE, "rollout_id": number} if number else {}
        try:
            found.append(_answered(program, step, reading, branch, config))
        except ModelReplyError as error:
            branch.add(Stopped("unreadable_reply", str(error)))
            found.append(None)
            unread = error
    if unread is not None and not any(found):
        raise unread
    return _most_frequent(found, branches, trace)


def _answered(
    program: AnsweringProgram,
    step: RolePredict,
    reading: Reading,
    trace: Trace,
    config: Mapping[str, Any] | None = None,
) -> Outcome:
    """One answer, checked."""
    shown = {"question": reading.question, "topics": list(reading.shown), "facts": list(reading.lines)}
    reply = program.ask(trace, step, **shown, config=dict(config or {}))
    cited = [reading.facts[n - 1] for n in valid_numbers("fact", reply.cited, len(reading.lines), trace)]
    written = [name for answer in reply.answers if (name := split_edge(answer.strip())[0])]
    conclusion = Conclusion(program, reading, cited, trace)
    if reply.operation != "none" and (found := conclusion.compute(reply.operation, terminal(cited))) is not None:
        return found
    if not written:
        return abstention("not_in_facts", "the model found no answer in the retrieved facts", trace)
    return conclusion.look_up(written)


def _most_frequent(found: Sequence[Outcome | None], branches: Sequence[Trace], trace: Trace) -> Outcome:
    """The outcome with the answer of most samples, the first of these; the trace gets its steps last."""
    keys = [None if one is None else (one.answers or normalize(one.answer)) for one in found]
    votes = Counter(key for key in keys if key is not None)
    key, most = votes.most_common(1)[0]
    at = keys.index(key)
    for number, branch in enumerate(branches):
        trace.steps += [step for step in branch.steps if number != at and isinstance(step, Wrote | Stopped)]
    trace.steps += branches[at].steps
    chosen = found[at]
    assert chosen is not None
    said = f"{most} of {len(found)} samples say {chosen.answer or 'nothing'!r}"
    agreed = 2 * most > len(found)
    trace.add(Checked("agreement", agreed, said))
    return (
        chosen if agreed or chosen.abstained is not None else replace(chosen, doubts=(*chosen.doubts, f"only {said}"))
    )


class Conclusion:
    """What a model concluded from facts."""

    def __init__(self, program: Program, reading: Reading, cited: Sequence[Fact], trace: Trace) -> None:
        self.program = program
        self.graph = program.graph
        self.reading = reading
        self.cited = cited
        self.trace = trace
        self.matcher = AnswerMatcher(program.graph, cited, reading.subgraph.facts, reading.names, self.asked)

    @cached_property
    def asked(self) -> Question:
        """The question, with the topics masked."""
        return self.program.read(self.reading.question, self.reading.shown)

    def compute(self, operation: str, operands: Sequence[Fact]) -> Outcome | None:
        """Run an operation over facts; None if it cannot be computed, and the trace says why."""
        sizes = [quantity(value_of(self.graph, value)) for fact in operands for value in fact.values]
        try:
            if any(map(self.reading.subgraph.incomplete, operands)):
                raise NotComputableError("a bound cut off entities that it would have to run over")
            if operation == "count" and self._asks_amount(sizes):
                if len(sizes) > 1:
                    raise NotComputableError("the question asks for an amount in a unit, not for a number of amounts")
                operation = "sum"  # of one amount
            result = aggregate(self.graph, operation, operands)
        except NotComputableError as error:
            self.trace.add(Checked(f"operation {operation}", False, str(error)))
            return None
        self.trace.add(Computed(operation, sum(len(f.values) for f in operands), result.text))
        opposite = opposite_extreme(self.asked, operation, {"" if size is None else size.sense for size in sizes})
        anchors = {fact.anchor for fact in operands}
        bridges = [edge for fact in self.cited if fact not in operands for edge in fact.triples(anchors)]
        proof = self.with_chains(operands, [*bridges, *result.triples])
        return Outcome(result.text, result.nodes, proof, grounded=True, doubts=(opposite,) if opposite else ())

    def _asks_amount(self, sizes: Sequence[Quantity | None]) -> bool:
        """Whether the question asks for a unit that only the graph has, and all sizes are in it: "how many crowns"."""
        at = self.asked.asked.at
        unit = own_unit(OWN + self.asked.parse.words[at]) if at >= 0 else None
        return bool(sizes) and unit is not None and all(one is not None and one.kind == unit.kind for one in sizes)

    # --- written -------------------------------------------------------------------------------
    def look_up(self, written: Sequence[str]) -> Outcome:
        """The outcome of written answers: each is found in the cited facts, else in all retrieved facts."""
        is_plain = self.asked.asks_whether and not self.asked.negations
        if self.cited and is_plain and len(written) == 1 and written[0].casefold() == "true":
            return self._yes_or_no("yes")
        # A value may have this name (there is a band called Yes): then it is the answer.
        is_value = any(written[0] == self.reading.names[value] for fact in self.cited for value in fact.values)
        if self.cited and len(written) == 1 and normalize(written[0]) in YES_NO and not is_value:
            return self._yes_or_no(normalize(written[0]))
        matched: dict[int, Fact] = {}
        unfounded = []
        for text in written:
            found = self.matcher.find(text)
            if not found:
                unfounded.append(text)
            for node, fact in found:
                matched.setdefault(node, fact)
        topics = () if self.asked.chooses else self.reading.topics
        nodes = without_topics(self.program.assists, list(matched), topics, self.graph, self.trace)
        evidence: list[Edge] = []
        for node in nodes:
            fact = matched[node]
            evidence += self.with_chains([fact], fact.triples([node] if node in fact.values else None))
        if unfounded:
            self.trace.add(Checked("answer", False, f"in no retrieved fact: {', '.join(unfounded)}"))
        if nodes:
            self.trace.add(
                Checked("answer", True, f"in the retrieved facts: {len(nodes)} of {len(nodes) + len(unfounded)}")
            )
            # Other facts that the model cited stay in the evidence: they may be how it found the answer.
            besides = [t for fact in self.cited if len(fact.values) == 1 for t in fact.triples()]
            proof = proving([*evidence, *besides])
            return Outcome(", ".join(self.graph.labels(nodes)), tuple(nodes), proof, True)
        return self._ungrounded(Outcome(", ".join(unfounded), grounded=False), "the answer is in no retrieved fact")

    def _ungrounded(self, found: Outcome, reason: str) -> Outcome:
        return abstention("not_grounded", reason, self.trace) if self.program.options.grounded_only else found

    # --- yes and no ----------------------------------------------------------------------------
    def _yes_or_no(self, said: str) -> Outcome:
        """A yes needs a cited fact that says it; a no needs one that excludes it."""
        evidence = self.with_chains(self.cited, [t for fact in self.cited for t in fact.triples()])
        if self.compares_values():
            doubt = "which of the cited values is greater was not computed"
            self.trace.add(Checked("answer", True, f"the cited facts give the values that are compared; {doubt}"))
            return Outcome(said, (), evidence, grounded=True, doubts=(doubt,))
        if said == "yes" and (says := [edge for fact in self.cited for edge in fact.triples(self._said_by(fact))]):
            evidence = self.with_chains(self.cited, says)
        held = any(map(self._said_by if said == "yes" else self._excludes, self.cited)) or self._is_told(said)
        wanted = "says what the question asks" if said == "yes" else "excludes what the question asks"
        reason = f"{'a' if held else 'no'} cited fact {wanted}"
        self.trace.add(Checked("answer", held, f"{said}: {reason}"))
        if held:
            return Outcome(said, (), evidence, grounded=True)
        return self._ungrounded(Outcome(said, (), evidence, grounded=False, doubts=(reason,)), reason)

    def _is_told(self, said: str) -> bool:
        """Whether the value at the end of the cited facts is true, for yes, or false, for no."""
        values = {self.graph.labels([value])[0] for fact in terminal(self.cited) for value in fact.values}
        return values == {"true" if said == "yes" else "false"}

    def compares_values(self) -> bool:
        """Whether the cited facts end at numbers or dates of two entities, by one relation."""
        ends = terminal(self.cited)
        return (
            all(is_measured(self.graph, fact) for fact in ends)
            and len({fact.hop for fact in ends}) == 1
            and len({fact.path[0] for fact in ends}) > 1
        )

    def _said_by(self, fact: Fact) -> list[int]:
        """The things that the question names and to which a fact relates its topic."""
        return [value for value in fact.values if value != fact.path[0] and self._is_named(value)]

    def _excludes(self, fact: Fact) -> bool:
        """Whether all values of a fact are known, none is named, and there can be no other.

        There can be no other if the world is declared closed, or if a relation has one value for each entity.
        """
        cut = fact.total > len(fact.values) or self.reading.subgraph.incomplete(fact)
        if cut or not fact.values or any(map(self._is_named, fact.values)):
            return False
        return self.program.options.closed_world or is_functional(self.graph, fact)

    def _is_named(self, node: int) -> bool:
        question = Words(self.reading.question)
        if node in self.reading.topics:
            return True
        if quantity(value_of(self.graph, node)) is not None:
            return mentions(self.reading.question, value_of(self.graph, node))
        entity = self.graph.entity(node)
        return any(name in question for name in (entity.label, *entity.aliases))

    def with_chains(self, facts: Sequence[Fact], triples: Sequence[Edge]) -> tuple[Edge, ...]:
        """The triples, after those that connect them with the topic."""
        chains = [edge for fact in facts for edge in self.reading.subgraph.chain(fact)]
        return proving([*chains, *triples])


def proving(triples: Sequence[Edge]) -> tuple[Edge, ...]:
    """Triples, each once; those from a thing to itself only if all are."""
    found = tuple(dict.fromkeys(triples))
    return tuple((head, relation, tail) for head, relation, tail in found if head != tail) or found


def is_functional(graph: Graph, fact: Fact) -> bool:
    """Whether the relation of a fact has one value for each entity, in its direction, as far as a sample shows."""
    back = Direction.IN if fact.hop.direction is Direction.OUT else Direction.OUT
    starts = {fact.anchor}
    for value in fact.values:
        starts.update(graph.neighbors(value, fact.hop.relation, back, limit=_SAMPLED).tolist())
    for kind in graph.types(fact.anchor)[:1]:
        starts.update(graph.nodes_of_type(kind)[:_SAMPLED].tolist())
    edges = graph.expand(sorted(starts), fact.hop.relation, fact.hop.direction, limit_per_node=2)
    ends = (edges.heads if fact.hop.direction is Direction.OUT else edges.tails).tolist()
    sample = set(ends)
    several = len(ends) - len(sample)
    return len(sample) >= _LEAST_SAMPLE and several <= _SEVERAL * len(sample)
