"""Why a query cannot be what was asked, as its form and the question alone tell: numbers, bounds, orders, joins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from triplecheck.kg import Graph, Literal
from triplecheck.kg.plans import Plan
from triplecheck.kg.plans.algebra import Constant, End, Var, positive
from triplecheck.kg.values import quantity
from triplecheck.language.coverage import QuerySays, meant_order
from triplecheck.language.described import asked_class
from triplecheck.language.likeness import Likeness
from triplecheck.language.operations import Comparison, number
from triplecheck.language.question import Question
from triplecheck.programs.offers import described

COMPUTED = re.compile(r"\s*SELECT\s+(?:(?:DISTINCT|REDUCED)\s+)?\(\s*(?!(?:MIN|MAX|SAMPLE)\b)", re.IGNORECASE)
"""The beginning of a query that computes its answer. MIN, MAX and SAMPLE give a value that is in the graph."""
_EXTREME = re.compile(r"\s*SELECT\s+(?:(?:DISTINCT|REDUCED)\s+)?\(\s*(?:MIN|MAX)\b", re.IGNORECASE)
_TYPED = re.compile(r"[?$](\w+)\s+a\s+<([^<>]+)>")
_SMALL = (0, 1, 2)  # what a query may compare a number of things with: "several", "both"
_RECKONING = ("plus", "minus", "times", "divided by", "year", "month", "day")
TIMES = frozenset(("date", "year"))
COMPARISONS = frozenset(("<", "<=", ">", ">=", "=", "in"))


@dataclass(frozen=True)
class QueryForm:
    """What the query of one question must be like.

    Attributes:
        graph: that it is about.
        read: the question.
        topics: of each node the name in prompts and the spelling in the question.
        likeness: of words and relations.
        classes: the names of the classes of the graph.
    """

    graph: Graph
    read: Question
    topics: Mapping[int, tuple[str, str]]
    likeness: Likeness
    classes: Sequence[str]

    def problem(self, plan: Plan, said: Callable[[Plan], QuerySays]) -> str:
        """Why a query cannot be what was asked; empty if it can.

        Args:
            said: tells what a query says.
        """
        return (
            self._number_problem(plan)
            or self._order_problem(plan, said)
            or self._join_problem(plan)
            or self._bound_problem(plan)
            or self._selection_problem(plan)
        )

    def _number_problem(self, plan: Plan) -> str:
        """Why a query that computes a number cannot be what was asked; empty if it can."""
        asked, is_extreme = self.read.asked, _EXTREME.match(plan.text)
        if self.read.aggregate is not None or not (COMPUTED.match(plan.text) or is_extreme):
            return ""
        classes = asked_class(self.read, self.classes, one=True) if asked.kind != "number" else ()
        chooses = asked.kind == "person" or asked.is_list or any(join.kind == "or" for join in self.read.joins)
        if classes or (chooses and not is_extreme):
            return f"The question does not ask for a number: select the {(*classes, 'things')[0]}."
        return ""

    def _bound_problem(self, plan: Plan) -> str:
        """Why a query is wrong that compares with a number, though the question has none; empty if it is not."""
        read, lexicon = self.read, self.read.parse.lexicon
        has_number = any(number(read.parse, at) is not None for at in range(len(read.parse)))
        if has_number or read.limits or read.times or read.numbers or not lexicon.numbers:
            return ""
        if any(plan.has(name) for name in _RECKONING) or not lexicon.amounting.isdisjoint(read.words):
            return ""
        values = (one for operation in plan.operations if operation.name in COMPARISONS for one in operation.values)
        texts = map(unquoted, values)
        sizes = ((text, quantity(Literal(text))) for text in texts)
        found = next((text for text, size in sizes if size is not None and size.amount not in _SMALL), "")
        return f"The query compares with {found}, and the question has no number." if found else ""

    def _order_problem(self, plan: Plan, said: Callable[[Plan], QuerySays]) -> str:
        """Why a query is wrong that takes the wrong end of an order, "the oldest" by the last year; empty if it is
        not."""
        found = self.read.compares
        if found is None:
            return ""
        if found.degree != "Sup":
            return self._comparison_problem(plan, found)
        way = meant_order(found, said(plan))
        return f"{found.text!r} needs ORDER BY {way.upper()}(...)." if way else ""

    def _comparison_problem(self, plan: Plan, found: Comparison) -> str:
        """Why a query is wrong that compares with a topic the wrong way round, "older than X" by a later year; empty if
        it is not."""
        parse, relations = self.read.parse, {numbers for *_, numbers in plan.compared}
        than = next((at for at, word in enumerate(parse.words) if word in parse.lexicon.than), None)
        if found.degree != "Cmp" or than is None or self.read.negations or len(relations) != 1:
            return ""
        standard = next(filter(None, parse.topics[than:]), None)
        nodes = {node for node, names in self.topics.items() if standard in names}

        def is_standard(end: End) -> bool:
            return isinstance(end, Constant) and not nodes.isdisjoint(end.nodes)

        (numbers,) = relations
        ends = {end for one in numbers for line in described(self.graph, one) for end in line.ends}
        kind = "number" if ends.isdisjoint(TIMES) else "time"
        meant = {sense.operation for sense in found.senses if sense.kind == kind}
        pairs = [(is_standard(more), is_standard(less)) for more, less, _ in plan.compared]
        taken = {"max" if is_less else "min" for is_more, is_less in pairs if is_more != is_less}
        if len(meant) != 1 or len(taken) != 1 or meant == taken:
            return ""
        way, label = ("greater" if meant == {"max"} else "smaller"), self.graph.relation(numbers[0]).label
        return f"{found.text!r} means the {way} {label!r}: turn the comparison."

    def _join_problem(self, plan: Plan) -> str:
        """Why a query is wrong that excludes what it requires, or requires both where the question says "or"; empty if
        it is not."""
        if plan.is_contradicted:
            return "The query requires what it excludes. Keep that triple only inside NOT EXISTS."
        joined = {name for join in self.read.joins if join.kind == "or" for name in join.members}
        for pair in plan.doubled:
            named = [{name for node in one.nodes for name in self.topics.get(node, ())} for one in pair]
            if not any(joined.isdisjoint(names) for names in named):
                both = " ".join(one.text for one in pair)
                return f"The question has 'or': write VALUES ?one {{ {both} }}, and one triple with ?one for the two."
        return ""

    def _selection_problem(self, plan: Plan) -> str:
        """Why a query is wrong that selects things of another class than the variable that is called like what is asked
        for: halls for "which city", beside `?city`; empty if it is not."""
        bases, asked = self.likeness.bases, self.read.asked
        wanted = bases(asked.lemma) if asked.kind == "thing" and asked.at >= 0 else frozenset()
        is_computed = COMPUTED.match(plan.text) or _EXTREME.match(plan.text)
        if not wanted or plan.kind == "ask" or is_computed or len(plan.variables) != 1:
            return ""
        classes = {name: bases(label) for name, label in _TYPED.findall(plan.text)}
        own = classes.get(plan.variables[0])
        if own is None or own == wanted or wanted & bases(_unnumbered(plan.variables[0])):
            return ""
        names = (end.name for one in positive(plan.algebra) for end in one.ends if isinstance(end, Var))
        others = (name for name in names if name not in plan.variables and bases(_unnumbered(name)) == wanted)
        meant = next((name for name in others if classes.get(name, wanted) == wanted), "")
        return f"The question asks for {asked.noun!r}: select ?{meant}." if meant else ""


def unquoted(value: str) -> str:
    """A value of a query, without quotes and datatype."""
    return value.strip('"').partition('"')[0]


def _unnumbered(name: str) -> str:
    return name.rstrip("0123456789")
