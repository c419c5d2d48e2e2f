"""From facts to a checked outcome: the model answers, and each answer is found in the facts or computed from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from triplecheck.kg import Direction, Graph, Literal, Words, normalize
from triplecheck.kg.types import Edge
from triplecheck.kg.values import agrees, mentions, quantity, value_of
from triplecheck.language.question import Question, spelling
from triplecheck.lms import ModelReplyError, RolePredict
from triplecheck.programs.aggregation import NotComputableError, Result, aggregate, terminal
from triplecheck.programs.base import Program
from triplecheck.programs.doubts import YES_NO, asks_which, opposite_extreme
from triplecheck.programs.expansion import valid_numbers
from triplecheck.programs.matching import AnswerMatcher
from triplecheck.programs.operands import EXTREMES, Operands
from triplecheck.programs.options import AnsweringOptions
from triplecheck.programs.outcome import Outcome
from triplecheck.programs.steps import Checked, Computed, Stopped, Trace, Wrote
from triplecheck.programs.subgraph import Fact, Subgraph, node_names
from triplecheck.signatures import SettleAnswer
from triplecheck.signatures.notation import split_edge

_TEMPERATURE = 0.7  # of samples
# To tell whether a relation has one value per entity: entities that are looked at, the fewest of them that tell it,
# and the share of them that may have more.
_SAMPLED, _LEAST_SAMPLE, _SEVERAL = 500, 5, 0.02


@dataclass(frozen=True)
class Reading:
    """What a model reads when it answers from facts.

    Attributes:
        question: the question.
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


def names_of_facts(
    graph: Graph, facts: Iterable[Fact], topics: Mapping[int, str], question: Question, step: RolePredict
) -> dict[int, str]:
    """The text of each node in a prompt with facts.

    A language model knows what a name stands for. The rule-based baseline reads the types of things where the question
    asks who or where.
    """
    nodes = [node for fact in facts for node in (fact.anchor, *fact.values)]
    return node_names(graph, nodes, typed=step.is_baseline and question.asked.kind in ("person", "place")) | dict(
        topics
    )


def answer_from_facts(program: Program, step: RolePredict, reading: Reading, trace: Trace) -> Outcome:
    """Ask for an answer from facts, check it against them, and compute what it asks to be computed.

    Args:
        program: its graph is checked against, and its options say which answers are given.
        step: made by `doubts.answering_step`.
        reading: what the model reads.
        trace: records the reply, and what was computed and checked.
    """
    samples = program.options.samples if isinstance(program.options, AnsweringOptions) else 1
    if samples == 1 or step.is_baseline:
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
    program: Program, step: RolePredict, reading: Reading, trace: Trace, config: Mapping[str, Any] | None = None
) -> Outcome:
    """One answer, checked."""
    reply = step(
        question=reading.question, topics=list(reading.shown), facts=list(reading.lines), config=dict(config or {})
    )
    program.wrote(trace, step, reply)
    cited = [reading.facts[n - 1] for n in valid_numbers("fact", reply.cited, len(reading.lines), trace)]
    return _Conclusion(program, step, reading, cited, trace).conclude(reply.operation, reply.answers)


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


class _Conclusion:
    """A model's conclusion, checked and completed."""

    def __init__(
        self, program: Program, step: RolePredict, reading: Reading, cited: Sequence[Fact], trace: Trace
    ) -> None:
        self._program = program
        self._graph = program.graph
        self._step = step
        self._reading = reading
        self._cited = cited
        self._trace = trace
        self._operands = Operands(program.graph, reading.subgraph, self._asked, program.sources.relations)
        self._matcher = AnswerMatcher(program.graph, cited, reading.subgraph.facts, reading.names, reading.question)

    @cached_property
    def _asked(self) -> Question:
        """The question, with the topics masked."""
        return self._program.read(self._reading.question, self._reading.shown)

    def conclude(self, operation: str, answers: Sequence[str]) -> Outcome:
        """The outcome of an operation over the cited facts (`none` for nothing) and of the answers as written."""
        written = [name for a in answers if (name := split_edge(a.strip())[0])]
        if (compared := self._compared(written)) is not None:
            return compared
        if operation == "common" and self._asked.asks_whether:
            operation = "same"  # whether they share something, not what
        if operation != "none":
            operands = self._operands.of(operation, self._cited, is_written=bool(written))
            computed = self._compute(operation, operands, written)
            if computed is not None:
                return self._chosen(operation, operands, computed, written)
        if not written:
            self._trace.add(Stopped("not_in_facts", "the model found no answer in the retrieved facts"))
            return Outcome(abstained="not_in_facts")
        return self._look_up(written)

    # --- computed ------------------------------------------------------------------------------
    def _compared(self, written: Sequence[str]) -> Outcome | None:
        """The answer to a question such as "Is A older than B?", yes or no, computed from the cited values.

        The comparative in the question decides between `max` and `min`. A model often names the other one, the
        difference, or no operation.

        Returns:
            None if it is another question.
        """
        asked = self._asked
        if not asked.asks_whether or asked.compares is None or not self._compares():
            return None
        operands = terminal(self._cited)
        if not {fact.anchor for fact in operands} <= self._reading.topics.keys():
            return None
        kinds = self._kinds(operands)
        if len(kinds) != 1:
            return None
        vectors, relation = self._program.sources.relations, operands[0].hop.relation
        like = (lambda text: 0.0) if vectors is None else lambda text: float(vectors.against(text)[relation])
        found = self._compute(asked.compares.over(kinds.pop(), like).operation, operands)
        if found is None or found.answer not in YES_NO:
            return None
        if not written or self._agree(found, written):
            return found
        said = f"{', '.join(written)} is written, but the cited values say {found.answer}"
        self._trace.add(Checked("answer", False, said))
        return replace(found, doubts=(*found.doubts, said))

    def _compute(self, operation: str, operands: Sequence[Fact], written: Sequence[str] = ()) -> Outcome | None:
        """Run an operation over facts; None if it cannot be computed, and the trace says why."""
        if operation == "common" and len(operands) == 1 and not written:
            # What several facts share, said of one fact: its values.
            (fact,) = operands
            self._trace.add(Checked("operation common", False, "there is one set of values, and all are the answer"))
            names = ", ".join(self._graph.labels(list(fact.values)))
            return Outcome(names, fact.values, self._with_chains(operands, fact.triples()), grounded=True)
        try:
            if operation == "common" and written and len({fact.path[0] for fact in operands}) == 1:
                # A model often calls the values of several facts "common".
                raise NotComputableError("the facts are about one topic, and the answers are written")
            if any(map(self._reading.subgraph.incomplete, operands)):
                raise NotComputableError("a bound cut off entities that it would have to run over")
            if operation in EXTREMES and self._is_alone(operands):
                raise NotComputableError("there is one value, and nothing to compare it with")
            result = aggregate(self._graph, operation, operands)
            if operation in EXTREMES:
                result = self._whether(operands, self._when(operands, result))
        except NotComputableError as error:
            self._trace.add(Checked(f"operation {operation}", False, str(error)))
            return None
        self._trace.add(Computed(operation, sum(len(f.values) for f in operands), result.text))
        opposite = opposite_extreme(self._asked, operation, self._kinds(operands))
        doubts = (opposite,) if opposite else ()
        return Outcome(result.text, result.nodes, self._proof(operands, result), grounded=True, doubts=doubts)

    def _kinds(self, operands: Sequence[Fact]) -> set[str]:
        """The kinds of the values of some facts."""
        sizes = [quantity(value_of(self._graph, value)) for fact in operands for value in fact.values]
        return {size.kind if size is not None else "" for size in sizes}

    def _is_alone(self, operands: Sequence[Fact]) -> bool:
        """Whether there is only one value, and the question asks which thing has the extreme value."""
        return (
            sum(len(fact.values) for fact in operands) == 1
            and not self._step.is_baseline
            and asks_which(self._asked, self._graph.relation(operands[0].hop.relation))
        )

    def _when(self, operands: Sequence[Fact], result: Result) -> Result:
        """The result; for "When was the first of her novels published?" the date in place of the novel."""
        values = tuple(value for fact in operands if fact.anchor in result.nodes for value in fact.values)
        if self._asked.asked.kind != "time" or len(values) != 1:
            return result
        size = quantity(value_of(self._graph, values[0]))
        if size is None or size.kind != "time":
            return result
        return replace(result, text=self._graph.label(values[0]), nodes=values)

    def _whether(self, operands: Sequence[Fact], result: Result) -> Result:
        """Yes or no, if the question expects that: whether the topic that it names first has the extreme value."""
        compared = {fact.anchor for fact in operands}
        asked = self._asked
        topics = dict(zip(self._reading.topics, asked.topics, strict=False))
        if not asked.asks_whether or len(compared) < 2 or not compared <= topics.keys():
            return result
        question = normalize(self._reading.question)
        first = min(compared, key=lambda node: question.find(normalize(spelling(topics[node]))))
        return replace(result, text="yes" if result.nodes == (first,) else "no", nodes=())

    def _chosen(self, operation: str, operands: Sequence[Fact], computed: Outcome, written: Sequence[str]) -> Outcome:
        """The computed answer, unless the model wrote another or cited only some of a list; then the model decides."""
        if operation in EXTREMES and not self._step.is_baseline and (whole := self._operands.whole_path(operands)):
            over_all = self._compute(operation, whole)
            if over_all is not None and over_all.answers != computed.answers:
                if written and self._agree(over_all, written):
                    return over_all
                return self._settle(operation, whole, over_all, written, computed)
        if not written or self._agree(computed, written):
            return computed
        if operation == "common" and computed.answers:
            if self._named(written).issuperset(computed.answers):
                return computed  # the model wrote what one of the topics has, too
            if not {*operands} <= {*self._cited}:
                return self._look_up(written)
        if operation == "count":
            for facts in self._operands.on_the_way(operands):
                counted = self._compute(operation, facts)
                if counted is not None and self._agree(counted, written):
                    return counted
        return self._settle(operation, operands, computed, written)

    def _proof(self, operands: Sequence[Fact], result: Result) -> tuple[Edge, ...]:
        anchors = {fact.anchor for fact in operands}
        bridges = [edge for fact in self._cited if fact not in operands for edge in fact.triples(anchors)]
        return self._with_chains(operands, [*bridges, *result.triples])

    def _agree(self, computed: Outcome, written: Sequence[str]) -> bool:
        """Whether the written answers are the computed ones."""
        if computed.answers:
            return self._named(written) == set(computed.answers)
        value = Literal(computed.answer)
        return len(written) == 1 and (
            normalize(written[0]) == normalize(computed.answer) or bool(agrees(written[0], value))
        )

    def _named(self, written: Sequence[str]) -> set[int]:
        """The nodes of the facts that written answers name."""
        return {node for text in written for node, _ in self._matcher.find(text)}

    def _settle(
        self,
        operation: str,
        operands: Sequence[Fact],
        computed: Outcome,
        written: Sequence[str],
        over_cited: Outcome | None = None,
    ) -> Outcome:
        """One of two different answers: the model sees both and decides. The rule-based baseline is not asked again.

        Args:
            operation: what was computed.
            operands: what it was computed from.
            computed: the result.
            written: the answers that the model wrote.
            over_cited: the result over the cited facts alone, where the operands are more than these.
        """
        said = ", ".join(written) or (over_cited or computed).answer
        self._trace.add(Checked("answer", False, f"{said} is written, but {operation} is {computed.answer}"))
        over = "the cited facts" if over_cited is None else "all facts on their path"
        doubt = f"the model wrote {said}, and {operation} over {over} is {computed.answer}"
        if self._step.is_baseline:
            return replace(computed, doubts=(doubt,))
        settle = RolePredict(SettleAnswer, role=self._step.role)
        shown = {*self._cited, *operands}
        reply = settle(
            question=self._reading.question,
            facts=[line for fact, line in zip(self._reading.facts, self._reading.lines, strict=False) if fact in shown],
            written=said,
            operation=operation,
            computed=computed.answer,
            lm=self._step.lm,
        )
        self._program.wrote(self._trace, settle, reply)
        if reply.right == "computed":
            return computed
        if reply.right == "written":
            found = self._look_up(written) if written else Outcome()
            # A result that has triples is worth more than a preferred answer without any.
            return replace(found if found.grounded else over_cited or computed, doubts=(*found.doubts, doubt))
        self._trace.add(Stopped("contradictory", doubt))
        return Outcome(abstained="contradictory")

    # --- written -------------------------------------------------------------------------------
    def _look_up(self, written: Sequence[str]) -> Outcome:
        # A value may have this name (there is a band called Yes): then it is the answer.
        is_value = any(written[0] == self._reading.names[value] for fact in self._cited for value in fact.values)
        if self._cited and len(written) == 1 and normalize(written[0]) in YES_NO and not is_value:
            return self._yes_or_no(normalize(written[0]))
        nodes: list[int] = []
        evidence: list[Edge] = []
        unfounded = []
        for text in written:
            found = self._matcher.find(text)
            if not found:
                unfounded.append(text)
            for node, fact in found:
                if node not in nodes:
                    nodes.append(node)
                    supporting = fact.triples([node] if node in fact.values else None)
                    evidence += self._with_chains([fact], supporting)
        if unfounded:
            self._trace.add(Checked("answer", False, f"in no retrieved fact: {', '.join(unfounded)}"))
        if nodes:
            self._trace.add(
                Checked("answer", True, f"in the retrieved facts: {len(nodes)} of {len(nodes) + len(unfounded)}")
            )
            # Other facts that the model cited stay in the evidence: they may be how it found the answer.
            besides = [t for fact in self._cited if len(fact.values) == 1 for t in fact.triples()]
            proof = tuple(dict.fromkeys([*evidence, *besides]))
            return Outcome(", ".join(self._graph.labels(nodes)), tuple(nodes), proof, True)
        return self._ungrounded(Outcome(", ".join(unfounded), grounded=False), "the answer is in no retrieved fact")

    def _ungrounded(self, found: Outcome, reason: str) -> Outcome:
        if not self._program.options.grounded_only:
            return found
        self._trace.add(Stopped("not_grounded", reason))
        return Outcome(abstained="not_grounded")

    # --- yes and no ----------------------------------------------------------------------------
    def _yes_or_no(self, said: str) -> Outcome:
        """A yes needs a cited fact that says it; a no needs one that excludes it."""
        evidence = self._with_chains(self._cited, [t for fact in self._cited for t in fact.triples()])
        if self._compares():
            doubt = "which of the cited values is greater was not computed"
            self._trace.add(Checked("answer", True, f"the cited facts give the values that are compared; {doubt}"))
            return Outcome(said, (), evidence, grounded=True, doubts=(doubt,))
        held = any(map(self._says if said == "yes" else self._excludes, self._cited))
        wanted = "says what the question asks" if said == "yes" else "excludes what the question asks"
        reason = f"{'a' if held else 'no'} cited fact {wanted}"
        self._trace.add(Checked("answer", held, f"{said}: {reason}"))
        if held:
            return Outcome(said, (), evidence, grounded=True)
        return self._ungrounded(Outcome(said, (), evidence, grounded=False, doubts=(reason,)), reason)

    def _compares(self) -> bool:
        """Whether the cited facts end at numbers or dates of two entities, by one relation."""
        ends = terminal(self._cited)
        return (
            all(map(self._operands.is_measured, ends))
            and len({fact.hop for fact in ends}) == 1
            and len({fact.path[0] for fact in ends}) > 1
        )

    def _says(self, fact: Fact) -> bool:
        """Whether a fact relates its topic to another thing that the question names."""
        return any(value != fact.path[0] and self._is_named(value) for value in fact.values)

    def _excludes(self, fact: Fact) -> bool:
        """Whether all values of a fact are known, none is named, and there can be no other.

        There can be no other if the world is declared closed, or if a relation has one value for each entity.
        """
        cut = fact.total > len(fact.values) or self._reading.subgraph.incomplete(fact)
        if cut or not fact.values or any(map(self._is_named, fact.values)):
            return False
        return self._program.options.closed_world or is_functional(self._graph, fact)

    def _is_named(self, node: int) -> bool:
        question = Words(self._reading.question)
        if node in self._reading.topics:
            return True
        if quantity(value_of(self._graph, node)) is not None:
            return mentions(self._reading.question, value_of(self._graph, node))
        entity = self._graph.entity(node)
        return any(name in question for name in (entity.label, *entity.aliases))

    def _with_chains(self, facts: Sequence[Fact], triples: Sequence[Edge]) -> tuple[Edge, ...]:
        """The triples, after those that connect them with the topic."""
        chains = [edge for fact in facts for edge in self._reading.subgraph.chain(fact)]
        return tuple(dict.fromkeys([*chains, *triples]))


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
