"""Triple patterns and expressions of plans as Cypher; see `kg.plans.cypher`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from triplecheck.kg.cypher.dialects import quoted
from triplecheck.kg.cypher.graph import CypherGraph
from triplecheck.kg.cypher.values import natives
from triplecheck.kg.errors import PlanError
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.write import write_expression, write_pattern, write_triple
from triplecheck.kg.types import XSD, Literal

NODE, VALUE, COMPUTED = "node", "value", "computed"
"""What a variable is; a value is that of a property."""
_NUMBERS = frozenset(XSD + name for name in ("integer", "decimal", "double", "float", "int", "long"))
_WORDS = {"and": "AND", "or": "OR", "=": "=", "!=": "<>"} | {sign: sign for sign in ("<", ">", "<=", ">=")}
_WORDS |= {sign: sign for sign in "+-*/"}
_FUNCTIONS = {"contains": "{} CONTAINS {}", "strstarts": "{} STARTS WITH {}", "strends": "{} ENDS WITH {}"}


def unknown(what: str) -> PlanError:
    """The error for a part of a plan that has no translation."""
    return PlanError(f"{what} is not supported on property graphs; load the graph with `triplecheck kb build` for it")


@dataclass
class Patterns:
    """Writes clauses, one after the other.

    Attributes:
        scope: the variables so far: what each is, and the property of a VALUE.
        clauses: the clauses so far.
        optional: variables that may be null.
    """

    graph: CypherGraph
    scope: dict[str, tuple[str, str]] = field(default_factory=dict)
    clauses: list[str] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)
    optional: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._look = self.graph.lookup
        self._queries, self._words = self._look.queries, self._look.words
        self._fresh = itertools.count(1)
        self._aggregates: set[str] = set()
        self._read_as: dict[str, str] = {}  # variables of values inside of EXISTS

    # --- names -----------------------------------------------------------------------------------
    def _label(self, node: str) -> str:
        present = self._queries.present(self._words.labels)
        return f"coalesce({', '.join([f'{node}.{quoted(key)}' for key in present] + [chr(39) * 2])})"

    def _kept(self) -> list[str]:
        return [quoted(name) for name in self.scope]

    def _handed_on(self, *more: str, distinct: bool = False) -> str:
        return f"WITH {'DISTINCT ' * distinct}{', '.join([*self._kept(), *more]) or '1 AS one'}"

    def _new(self, kind: str) -> str:
        """A name that no variable has."""
        return quoted(f"{kind} {next(self._fresh)}")

    def _kind(self, variable: str) -> str:
        return self.scope.get(variable, ("", ""))[0]

    def _parameter(self, value: Any) -> str:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return f"${name}"

    # --- triples ---------------------------------------------------------------------------------
    def _basic(self, patterns: Sequence[of.TriplePattern]) -> None:
        # Relationships first: properties are read from nodes that are bound.
        if unbound := sorted(of.variables(tuple(patterns)) & self.optional):
            raise unknown(f"?{unbound[0]} of OPTIONAL in another pattern")
        for pattern in sorted(patterns, key=self._rank):
            self._triple(pattern)
        if patterns:
            self.clauses.append(self._handed_on(distinct=True))

    def _rank(self, pattern: of.TriplePattern) -> int:
        if isinstance(pattern.predicate, of.Relations):
            return 0 if self._property(pattern) is None else 2
        return 1

    def _triple(self, pattern: of.TriplePattern) -> None:
        head = quoted(pattern.head.name) if isinstance(pattern.head, of.Var) else ""
        match pattern.predicate, pattern.tail:
            case of.IsA(), of.Classes(ids=ids):
                types = self._queries.types(head)
                conditions = " OR ".join(f"{self._parameter(id)} IN {types}" for id in ids)
                self._bind(pattern.head, f"({conditions})")
            case of.Labelled(), of.Var(name) if name not in self.scope:
                self._bind(pattern.head)
                self.clauses.append(self._handed_on(f"{self._label(head)} AS {quoted(name)}"))
                self.scope[name] = (COMPUTED, "")
            case of.Labelled(), of.Constant(literal=Literal(lexical)):
                self._bind(pattern.head, f"{self._label(head)} = {self._parameter(lexical)}")
            case of.Relations(), tail if not isinstance(tail, of.Classes):
                key = self._property(pattern)
                if key is not None:
                    self._with_property(pattern, key)
                    return
                match, both = self._relationship(pattern)
                self.clauses.append(f"MATCH {match}" + f" WHERE {' AND '.join(both)}" * bool(both))
            case _:
                raise unknown(write_triple(pattern))

    def _bind(self, end: of.End, condition: str = "") -> None:
        """Bind a node, if it is not yet, and check a condition."""
        if not isinstance(end, of.Var) or self._kind(end.name) in (VALUE, COMPUTED):
            raise unknown("a class or label of what is no node")
        where = f" WHERE {condition}" if condition else ""
        if end.name not in self.scope:
            self.scope[end.name] = (NODE, "")
            self.clauses.append(f"MATCH ({quoted(end.name)}){where}")
        elif where:
            self.clauses.append(self._handed_on() + where)

    def _ids(self, pattern: of.TriplePattern) -> list[str]:
        assert isinstance(pattern.predicate, of.Relations)
        return [self._look.relations.key(number) for number in pattern.predicate.numbers]

    def _property(self, pattern: of.TriplePattern) -> str | None:
        """The property that a predicate is; None if it is a type of relationships."""
        if not isinstance(pattern.predicate, of.Relations):
            raise unknown(write_triple(pattern))
        ids = self._ids(pattern)
        keys = [id for id in ids if id in self._queries.edge_keys]
        types = [id for id in ids if id in self._look.schema.types]
        if keys and (types or len(keys) > 1):
            raise unknown(f"{pattern.predicate.text}, which is several properties, or a property and a relationship,")
        return keys[0] if keys else None

    def _relationship(self, pattern: of.TriplePattern) -> tuple[str, list[str]]:
        """A pattern of one relationship, and conditions on its ends."""
        ends: list[str] = []
        conditions: list[str] = []
        assert not isinstance(pattern.tail, of.Classes)
        for end in pattern.ends:
            if isinstance(end, of.Var):
                if self._kind(end.name) in (VALUE, COMPUTED):
                    raise unknown(f"?{end.name}, which is a value and a node,")
                self.scope[end.name] = (NODE, "")
                ends.append(f"({quoted(end.name)})")
            else:
                name = self._new("n")
                conditions.append(self._is_one_of(name, end.nodes))
                ends.append(f"({name})")
        types = "|".join(quoted(id) for id in self._ids(pattern) if id in self._look.schema.types)
        return f"{ends[0]}-[:{types}]->{ends[1]}", conditions

    def _is_one_of(self, name: str, nodes: Iterable[int]) -> str:
        """Whether a node is one of those of a name."""
        conditions = []
        for label, at in self._look.anchored(enumerate(nodes)):
            near = self._queries.near(label).replace(self._queries.element("x"), self._queries.element(name))
            within = f"label({name}) = {self._parameter(label)} AND " if label is not None else ""
            conditions.append(f"({within}{near} IN {self._parameter(list(at))})")
        return f"({' OR '.join(conditions)})" if conditions else "false"

    def _with_property(self, pattern: of.TriplePattern, key: str) -> None:
        if isinstance(pattern.head, of.Var):
            self._bind(pattern.head)
            head = quoted(pattern.head.name)
        else:
            head = self._new("n")
            self.clauses.append(f"MATCH ({head}) WHERE {self._is_one_of(head, pattern.head.nodes)}")
        value, is_list = self._read(head, key)
        name = self._new("v")
        tail = pattern.tail
        self.clauses.append(f"{self._handed_on(f'{value} AS {name}')} WHERE {name} IS NOT NULL")
        if is_list:
            whole, name = name, self._new("v")
            self.clauses.append(f"UNWIND {whole} AS {name}")
        if isinstance(tail, of.Constant):
            self.clauses.append(f"{self._handed_on(name)} WHERE {name} IN {self._natives(tail, key)}")
        elif isinstance(tail, of.Var) and tail.name in self.scope:
            if self._kind(tail.name) == NODE:
                raise unknown(f"?{tail.name}, which is a value and a node,")
            self.clauses.append(f"{self._handed_on(name)} WHERE {name} = {quoted(tail.name)}")
        elif isinstance(tail, of.Var):
            self.clauses.append(self._handed_on(f"{name} AS {quoted(tail.name)}"))
            self.scope[tail.name] = (VALUE, key)

    def _read(self, head: str, key: str) -> tuple[str, bool]:
        """The value of a property, null where it is the label of its node; and whether it is a list."""
        several = {each.many for each in self._look.schema.properties if each.key == key}
        if len(several) > 1:
            raise unknown(f"{key!r}, which is a list at some nodes,")
        value = f"{head}.{quoted(key)}"
        if key in self._words.labels:
            others = " OR ".join(f"{head}.{quoted(one)} IS NOT NULL" for one in self._queries.before(key)) or "false"
            value = f"CASE WHEN {others} THEN {value} ELSE NULL END"
        return value, several == {True}

    def _natives(self, one: of.Constant, key: str) -> str:
        """The values that a constant may be, as the engine has them."""
        lexicals = [one.literal.lexical] if one.literal is not None else []
        lexicals += [value.lexical for node in one.nodes if isinstance(value := self._look.nodes.key(node), Literal)]
        kinds = {each.kind for each in self._look.schema.properties if each.key == key}
        return self._parameter(natives(dict.fromkeys(lexicals), *sorted(kinds)))

    # --- expressions -----------------------------------------------------------------------------
    def expression(self, expression: of.Expression) -> str:
        """An expression, with parentheses around whatever has an operator."""
        match expression:
            case of.Var(name):
                if name in self._read_as:
                    return f"({self._read_as[name]})"
                return quoted(name) if name in self.scope else "null"
            case of.Constant(literal=Literal() as literal):
                return self._literal(literal)
            case of.Exists(pattern, negated):
                return f"{'NOT ' * negated}{self._exists(pattern)}"
            case of.Call("=" | "!=" | "in" | "not in" as name, (one, *others)) if self._is_node(one, *others):
                return self._same(one, others, name in ("!=", "not in"))
            case of.Call("in" | "not in" as name, (one, *others)):
                listed = ", ".join(map(self.expression, others))
                return f"({'NOT ' * (name == 'not in')}{self.expression(one)} IN [{listed}])"
            case of.Call("bound", (of.Var(name),)):
                return f"({self.expression(of.Var(name))} IS NOT NULL)"
            case of.Call("not", (one,)):
                return f"(NOT {self.expression(one)})"
            case of.Call("minus", (one,)):
                return f"(-{self.expression(one)})"
            case of.Call("/", (left, right)):  # whole numbers, too
                return f"(1.0 * {self.expression(left)} / {self.expression(right)})"
            case of.Call(name, arguments) if name in _WORDS:
                return f"({f' {_WORDS[name]} '.join(map(self.expression, arguments))})"
            case of.Call(name, (left, right)) if name in _FUNCTIONS:
                return f"({_FUNCTIONS[name].format(self.expression(left), self.expression(right))})"
            case of.Call("abs" | "ceil" | "floor" | "round" as name, (one,)):
                return f"{name}({self.expression(one)})"
        raise unknown(write_expression(expression))

    def _literal(self, literal: Literal) -> str:
        if literal.datatype in _NUMBERS:
            kind = literal.datatype.removeprefix(XSD)
            found = natives([literal.lexical], "integer" if kind in ("integer", "int", "long") else "double")
            try:
                value = found[0] if found else float(literal.lexical)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise unknown(f"the number {literal.lexical!r}")
            return repr(value)
        name = literal.datatype.removeprefix(XSD)
        known = natives([literal.lexical], name) if name in ("date", "dateTime", "boolean") else [literal.lexical]
        if not known:
            raise unknown(f"the value {literal.lexical!r} of {name}")
        return self._parameter(known[0])

    def _is_node(self, *expressions: of.Expression) -> bool:
        return any(
            self._kind(one.name) == NODE
            if isinstance(one, of.Var)
            else isinstance(one, of.Constant) and not one.literal
            for one in expressions
        )

    def _same(self, one: of.Expression, others: Sequence[of.Expression], negated: bool) -> str:
        """Whether nodes are the same."""
        if isinstance(one, of.Constant) and len(others) == 1:
            one, others = others[0], [one]
        if not isinstance(one, of.Var) or self._kind(one.name) != NODE:
            raise unknown("a comparison of a node with a value")
        conditions = []
        for other in others:
            if isinstance(other, of.Constant) and other.literal is None:
                conditions.append(self._is_one_of(quoted(one.name), other.nodes))
            elif isinstance(other, of.Var) and self._kind(other.name) == NODE:
                element = self._queries.element
                conditions.append(f"{element(quoted(one.name))} = {element(quoted(other.name))}")
            else:
                raise unknown("a comparison of a node with a value")
        return f"({'NOT ' * negated}({' OR '.join(conditions)}))"

    def _exists(self, node: of.Operator) -> str:
        """EXISTS with a query in it."""
        conditions: list[of.Expression] = []
        while isinstance(node, of.Filter):
            conditions += node.conditions
            node = node.of
        if not isinstance(node, of.Basic):
            raise unknown(f"EXISTS {{ {write_pattern(node)} }}")
        scope, read_as = dict(self.scope), dict(self._read_as)
        matches: list[str] = []
        where: list[str] = []
        used = [id for one in node.patterns if isinstance(one.predicate, of.Relations) for id in self._ids(one)]
        if len(used) > len(set(used)):  # one MATCH follows no relationship twice
            raise unknown(f"EXISTS {{ {write_pattern(node)} }}")
        for pattern in sorted(node.patterns, key=self._rank):
            key = self._property(pattern) if isinstance(pattern.predicate, of.Relations) else None
            if isinstance(pattern.predicate, of.Relations) and key is None:
                match, more = self._relationship(pattern)
                matches.append(match)
                where += more
                continue
            if not isinstance(pattern.head, of.Var):
                raise unknown(f"EXISTS {{ {write_pattern(node)} }}")
            if pattern.head.name not in self.scope or not matches:
                matches.append(f"({quoted(pattern.head.name)})")
            self.scope.setdefault(pattern.head.name, (NODE, ""))
            where.append(self._inside(pattern, key))
        where += [self.expression(one) for one in conditions]
        self.scope, self._read_as = scope, read_as
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return f"EXISTS {{ MATCH {', '.join(matches)}{condition} }}"

    def _inside(self, pattern: of.TriplePattern, key: str | None) -> str:
        """A class or a property as a condition."""
        assert isinstance(pattern.head, of.Var)
        if key is None:
            if not isinstance(pattern.tail, of.Classes):
                raise unknown(f"EXISTS {{ {write_triple(pattern)} }}")
            types = self._queries.types(quoted(pattern.head.name))
            return f"({' OR '.join(f'{self._parameter(id)} IN {types}' for id in pattern.tail.ids)})"
        value, is_list = self._read(quoted(pattern.head.name), key)
        if isinstance(pattern.tail, of.Constant):
            if is_list:
                raise unknown(f"EXISTS {{ {write_triple(pattern)} }}")
            return f"{value} IN {self._natives(pattern.tail, key)}"
        assert isinstance(pattern.tail, of.Var)
        if pattern.tail.name in self.scope:
            return f"{value} = {quoted(pattern.tail.name)}"
        self._read_as[pattern.tail.name] = value
        return f"{value} IS NOT NULL"
