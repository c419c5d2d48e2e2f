"""Plans as SPARQL with IRIs for names, for evaluators and servers that know no labels."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.write import INFIX
from triplecheck.kg.sparql.terms import literal
from triplecheck.kg.types import Literal


class Spelling(Protocol):
    """How the terms of one graph are written. What is written in several ways is looked for in all of them."""

    @property
    def types(self) -> Sequence[str]:
        """The predicates from a node to its class."""

    @property
    def labels(self) -> Sequence[str]:
        """The predicates from a node to its label."""

    @property
    def language(self) -> str:
        """The language of labels, where there are several; empty: all."""

    def relation(self, relation: int) -> str:
        """A relation."""

    def node(self, node: int) -> Sequence[str]:
        """A node; a string may have several languages."""

    def type(self, id: str) -> str:
        """A class."""

    def value(self, literal: Literal) -> str:
        """A value to compare or compute with."""

    def texts(self, literal: Literal) -> Sequence[str]:
        """A label."""


def write_query(query: of.Select, spelling: Spelling, *, ask: bool = False, rows: int | None = None) -> str:
    """A plan as a query in SPARQL 1.1.

    Args:
        spelling: writes the terms of the graph whose names were looked up.
        ask: whether it asks if there is any solution.
        rows: most rows that are wanted.
    """
    return _Writer(spelling).query(query, ask, rows)


class _Writer:
    def __init__(self, spelling: Spelling) -> None:
        self._spelling = spelling
        self._language = literal(spelling.language) if spelling.language else ""
        self._fresh = itertools.count(1)
        self._aggregates: dict[str, str] = {}

    # --- queries ---------------------------------------------------------------------------------
    def query(self, query: of.Select, ask: bool = False, rows: int | None = None) -> str:
        outer, self._aggregates = self._aggregates, {}
        pattern, group = query.of, of.group_of(query.of)
        computed: dict[str, str] = {}
        having: list[str] = []
        if group is not None:
            self._aggregates = {one.result: self._aggregate(one) for one in group.aggregates}
            while isinstance(pattern, of.Extend | of.Filter):
                if isinstance(pattern, of.Extend):
                    computed[pattern.name] = self.expression(pattern.value)
                else:
                    having += map(self.expression, pattern.conditions)
                pattern = pattern.of
            pattern = group.of
        names = [f"({computed[name]} AS ?{name})" if name in computed else f"?{name}" for name in query.names]
        shown = " ".join(names) or f"(1 AS ?one{next(self._fresh)})"
        parts = [
            "ASK" if ask else f"SELECT {'DISTINCT ' * query.distinct}{shown} WHERE",
            f"{{ {self.group(pattern)} }}",
        ]
        if group is not None and group.keys:
            named = (f"?{one.name}" if isinstance(one, of.Var) else f"({self.expression(one)})" for one in group.keys)
            parts.append(f"GROUP BY {' '.join(named)}")
        if having:
            parts.append("HAVING " + " ".join(f"({one})" for one in having))
        if query.order:
            keys = (f"{'DESC' if down else 'ASC'}({self.expression(one)})" for one, down in query.order)
            parts.append(f"ORDER BY {' '.join(keys)}")
        length = query.length if rows is None or query.length is not None else rows
        if length is not None and not (ask and query.length is None):
            parts.append(f"LIMIT {length}")
        if query.start:
            parts.append(f"OFFSET {query.start}")
        self._aggregates = outer
        return " ".join(parts)

    def _aggregate(self, one: of.Aggregate) -> str:
        inner = "DISTINCT " * one.distinct + ("*" if one.of is None else self.expression(one.of))
        separator = f"; SEPARATOR={literal(one.separator)}" if one.name == "group_concat" else ""
        return f"{one.name.upper()}({inner}{separator})"

    # --- patterns --------------------------------------------------------------------------------
    def group(self, node: of.Operator) -> str:
        """A pattern, as it stands between braces."""
        match node:
            case of.Basic(patterns):
                return self._basic(patterns)
            case of.Join(left, right):
                first = self.group(left) if isinstance(left, of.Join) else self._part(left)
                if isinstance(right, of.Basic):
                    return f"{first} . {self.group(right)}"
                return f"{first} {self._braced(right)}"
            case of.LeftJoin(left, right, condition):
                also = "" if condition is None else f" FILTER({self.expression(condition)})"
                outer = self._part(left)
                inner = self._part(right) if isinstance(right, of.Filter) else self.group(right)
                return f"{outer} OPTIONAL {{ {inner}{also} }}"
            case of.Minus(left, right):
                return f"{self._part(left)} MINUS {{ {self.group(right)} }}"
            case of.Union(left, right):
                return f"{{ {self.group(left)} }} UNION {{ {self.group(right)} }}"
            case of.Filter(inner, conditions):
                written = " ".join(f"FILTER({self.expression(one)})" for one in conditions)
                return f"{self._part(inner)} {written}"
            case of.Extend(inner, name, value):
                return f"{self._part(inner)} BIND({self.expression(value)} AS ?{name})"
            case of.Values():
                return self._values(node)
            case of.Select():
                return self.query(node)
        raise AssertionError(node)

    def _part(self, node: of.Operator) -> str:
        """A pattern with others behind it in the same braces."""
        if isinstance(node, of.Basic | of.Values | of.LeftJoin | of.Minus | of.Extend):
            return self.group(node)
        return self._braced(node)

    def _braced(self, node: of.Operator) -> str:
        return f"{{ {self.group(node)} }}"

    def _values(self, node: of.Values) -> str:
        rows = []
        for row in node.rows:
            ways = [["UNDEF"] if one is None else self._terms(one) for one in row]
            rows += [f"({' '.join(way)})" for way in itertools.product(*ways)]
        return f"VALUES ({' '.join(f'?{name}' for name in node.names)}) {{ {' '.join(rows)} }}"

    def _terms(self, one: of.Constant) -> list[str]:
        found = [text for node in one.nodes for text in self._spelling.node(node)]
        return found or [self._literal(one)]

    def _literal(self, one: of.Constant) -> str:
        assert one.literal is not None
        return self._spelling.value(one.literal)

    # --- triples ---------------------------------------------------------------------------------
    def _basic(self, patterns: Sequence[of.TriplePattern]) -> str:
        if not patterns:
            return ""
        listed: dict[str, str] = {}  # terms that may be written in several ways, by how they are written here
        texts: list[str] = []
        filters: list[str] = []
        for pattern in patterns:
            head = self._end(pattern.head, listed)
            tail = self._tail(pattern, listed)
            texts.append(f"{head} {self._predicate(pattern.predicate)} {tail}")
            if isinstance(pattern.predicate, of.Labelled) and isinstance(pattern.tail, of.Var) and self._language:
                filters.append(f"FILTER(LANG({tail}) = '' || LANGMATCHES(LANG({tail}), {self._language}))")
        values = [f"VALUES {name} {{ {terms} }}" for terms, name in listed.items()]
        text = " ".join([*values, " . ".join(texts), *filters])
        named = (one.predicate for one in patterns if isinstance(one.predicate, of.Relations | of.IsA | of.Labelled))
        if not listed and all(len(self._predicates(one)) == 1 for one in named):
            return text
        shown = dict.fromkeys(_variable(one.name) for one in of.parts(tuple(patterns)) if isinstance(one, of.Var))
        if not shown:
            return f"FILTER EXISTS {{ {text} }}"
        return f"{{ SELECT DISTINCT {' '.join(shown)} WHERE {{ {text} }} }}"

    def _tail(self, pattern: of.TriplePattern, listed: dict[str, str]) -> str:
        if isinstance(pattern.tail, of.Classes):
            return self._one_of([self._spelling.type(id) for id in pattern.tail.ids], listed)
        if isinstance(pattern.predicate, of.Labelled) and isinstance(pattern.tail, of.Constant):
            label = pattern.tail.literal
            if label is not None:
                return self._one_of(list(self._spelling.texts(label)), listed)
        return self._end(pattern.tail, listed)

    def _end(self, end: of.End, listed: dict[str, str]) -> str:
        return _variable(end.name) if isinstance(end, of.Var) else self._one_of(self._terms(end), listed)

    def _one_of(self, terms: Sequence[str], listed: dict[str, str]) -> str:
        if len(terms) == 1:
            return terms[0]
        return listed.setdefault(" ".join(terms), f"?oneof{next(self._fresh)}")

    def _predicates(self, predicate: of.Relations | of.IsA | of.Labelled) -> Sequence[str]:
        match predicate:
            case of.Relations(numbers=numbers):
                return [self._spelling.relation(number) for number in numbers]
            case of.IsA():
                return self._spelling.types
        return self._spelling.labels

    def _predicate(self, predicate: of.Predicate) -> str:
        """A predicate or path."""
        match predicate:
            case of.Relations() | of.IsA() | of.Labelled():
                names = self._predicates(predicate)
                return names[0] if len(names) == 1 else f"({'|'.join(names)})"
            case of.Var(name):
                return f"?{name}"
            case of.Inverse(part):
                return f"^{self._predicate(part)}"
            case of.Chain(parts):
                return f"({'/'.join(map(self._predicate, parts))})"
            case of.Path("|", parts):
                return f"({'|'.join(map(self._predicate, parts))})"
            case of.Path("!", parts):
                inside = (self._predicate(one).strip("()") for one in parts)
                return f"!({'|'.join(inside)})"
            case of.Path(operator, (part,)):
                return f"({self._predicate(part)}){operator}"
        raise AssertionError(predicate)

    # --- expressions -----------------------------------------------------------------------------
    def expression(self, expression: of.Expression) -> str:
        """An expression, with parentheses around whatever has an operator."""
        match expression:
            case of.Var(name):
                return self._aggregates.get(name, _variable(name))
            case of.Constant():
                return self._literal(expression) if expression.literal is not None else self._terms(expression)[0]
            case of.Relations() | of.IsA() | of.Labelled():
                return self._predicates(expression)[0]
            case of.Exists(pattern, negated):
                return f"{'NOT ' * negated}EXISTS {{ {self.group(pattern)} }}"
            case of.Call("in" | "not in" as name, (one, *others)):
                return f"({self.expression(one)} {name.upper()} ({', '.join(self._each(others))}))"
            case of.Call("=" | "!=" as name, (left, right)) if _several(left) or _several(right):
                one, other = (left, right) if _several(right) else (right, left)
                sign = "IN" if name == "=" else "NOT IN"
                return f"({self.expression(one)} {sign} ({', '.join(self._each([other]))}))"
            case of.Call("and" | "or" as name, arguments):
                return f"({(' && ' if name == 'and' else ' || ').join(map(self.expression, arguments))})"
            case of.Call("not" | "minus" | "plus" as name, (one,)):
                return f"({ {'not': '!', 'minus': '-', 'plus': '+'}[name] }{self.expression(one)})"
            case of.Call(name, (left, right)) if name in INFIX:
                return f"({self.expression(left)} {name} {self.expression(right)})"
            case of.Call(name, arguments):
                return f"{f'<{name}>' if ':' in name else name.upper()}({', '.join(map(self.expression, arguments))})"
        raise AssertionError(expression)

    def _each(self, expressions: Sequence[of.Expression]) -> Iterator[str]:
        for one in expressions:
            if isinstance(one, of.Constant) and one.literal is None:
                yield from self._terms(one)
            elif isinstance(one, of.Relations | of.IsA | of.Labelled):
                yield from self._predicates(one)
            else:
                yield self.expression(one)


def _several(expression: of.Expression) -> bool:
    if isinstance(expression, of.Relations):
        return len(expression.numbers) > 1
    return isinstance(expression, of.Constant) and expression.literal is None and len(expression.nodes) > 1


def _variable(name: str) -> str:
    return f"?unnamed{name.removeprefix('_:')}" if name.startswith("_:") else f"?{name}"
