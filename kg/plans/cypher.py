"""Plans as Cypher, for property graphs: patterns, conditions, OPTIONAL, MINUS, EXISTS, groups, order and limits.

A query is a pipeline: each clause hands its variables on to the next. A variable is a node or a value. Values are
parameters, so that nothing in them is read as Cypher.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from triplecheck.kg.cypher.dialects import quoted
from triplecheck.kg.cypher.graph import CypherGraph
from triplecheck.kg.cypher.values import natives
from triplecheck.kg.errors import PlanError
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.write import write_expression, write_pattern, write_triple
from triplecheck.kg.types import XSD, Literal

NODE, VALUE, COMPUTED = "node", "value", "computed"
"""What a variable is; a value is that of a property."""
_NUMBERS = frozenset(XSD + name for name in ("integer", "decimal", "double", "float", "int", "long"))
_WORDS = {"and": "AND", "or": "OR", "!=": "<>"} | {sign: sign for sign in ("=", "<", ">", "<=", ">=", *"+-*/")}
_FUNCTIONS = {"contains": "{} CONTAINS {}", "strstarts": "{} STARTS WITH {}", "strends": "{} ENDS WITH {}"}
_AGGREGATES = frozenset(("count", "sum", "avg", "min", "max"))


def write_cypher(graph: CypherGraph, plan: Plan, rows: int) -> tuple[str, dict[str, Any], list[tuple[str, str]]]:
    """A plan as a query for a property graph.

    Args:
        graph: the graph whose names the plan was read with.
        rows: most rows that are wanted.

    Returns:
        The query, whose rows have two cells for a node, the engine's id and the key, and one for a value; its
        parameters; and of each column NODE, VALUE or COMPUTED, and the property of a VALUE.

    Raises:
        PlanError: a part of it has no translation.
    """
    writer = _Writer(graph)
    text = writer.query(plan.algebra, plan.kind == "ask", rows)
    return text, writer.parameters, [writer.scope.get(name, (COMPUTED, "")) for name in plan.variables]


def _unknown(what: str) -> PlanError:
    """The error for a part of a plan that has no translation."""
    return PlanError(f"{what} is not supported on property graphs; load the graph with `triplecheck kb build` for it")


class _Writer:
    """Writes clauses, one after the other."""

    def __init__(self, graph: CypherGraph) -> None:
        self.scope: dict[str, tuple[str, str]] = {}  # what each variable is, and the property of a VALUE
        self.parameters: dict[str, Any] = {}
        self._clauses: list[str] = []
        self._nullable: set[str] = set()  # variables that may be null
        self._look = graph.lookup
        self._queries, self._words = self._look.queries, self._look.words
        self._fresh = itertools.count(1)
        self._aggregates: set[str] = set()
        self._read_as: dict[str, str] = {}  # variables of values inside of EXISTS

    # --- queries ---------------------------------------------------------------------------------
    def query(self, query: of.Select, ask: bool, rows: int) -> str:
        self._operator(query.of)
        if ask:
            return " ".join([*self._clauses, "RETURN 1 LIMIT 1"])
        missing = [name for name in query.names if name not in self.scope]
        shown = [quoted(name) for name in query.names if name not in missing]
        order = [key for one, down in query.order for key in self._keys(one, down)]
        kept = shown if query.distinct else self._kept()
        if query.distinct:
            self._clauses.append(f"WITH DISTINCT {', '.join(shown)}")
        elif not kept:
            kept = ["1 AS one"]
        length = rows if query.length is None else query.length
        end = f"ORDER BY {', '.join(order)} " * bool(order) + f"SKIP {query.start} " * bool(query.start)
        self._clauses.append(f"WITH {', '.join(kept)} {end}LIMIT {length}")
        cells = [cell for name in query.names for cell in self._cells(name)]
        numbered = [f"{cell} AS c{number}" for number, cell in enumerate(cells)]
        return " ".join([*self._clauses, f"RETURN {', '.join(numbered) or '1 AS c0'}"])

    def _cells(self, name: str) -> list[str]:
        if name not in self.scope:
            return ["null"]
        if self.scope[name][0] == NODE:
            return [self._queries.element(quoted(name)), self._queries.key(quoted(name))]
        return [quoted(name)]

    def _keys(self, expression: of.Expression, descending: bool) -> list[str]:
        way = " DESC" if descending else ""
        if isinstance(expression, of.Var) and self._kind(expression.name) == NODE:
            text = self._label(quoted(expression.name))
        else:
            text = self._expression(expression)
        names = of.variables(expression)
        # SPARQL has unbound rows first.
        return [f"({text} IS NOT NULL){way}" for _ in [0] if names & self._nullable] + [f"{text}{way}"]

    # --- operators -------------------------------------------------------------------------------
    def _operator(self, node: of.Operator) -> None:
        """Add the clauses of a pattern."""
        match node:
            case of.Basic(patterns):
                self._basic(patterns)
            case of.Join(left, right):
                self._operator(left)
                self._operator(right)
            case of.Filter(inner, conditions):
                self._operator(inner)
                for one in conditions:
                    self._clauses.append(f"{self._handed_on()} WHERE {self._expression(one)}")
            case of.Extend(inner, name, value):
                self._operator(inner)
                if isinstance(value, of.Var) and value.name in self._aggregates:
                    self._rename(value.name, name)
                    return
                self._clauses.append(self._handed_on(f"{self._expression(value)} AS {quoted(name)}"))
                self.scope[name] = (COMPUTED, "")
            case of.Minus(left, right):
                self._operator(left)
                shared = {name for name in of.variables(right) if name in self.scope}
                if shared and not shared & self._nullable:
                    self._clauses.append(f"{self._handed_on()} WHERE NOT {self._exists(right)}")
                elif shared:
                    raise _unknown("MINUS on variables of OPTIONAL")
            case of.LeftJoin(left, right, condition):
                self._operator(left)
                self._optional(right, condition)
            case of.Group():
                self._group(node)
            case of.Values(names, rows) if len(names) == 1 and names[0] not in self.scope:
                self._values(names[0], [row[0] for row in rows])
            case _:
                named = {of.Union: "UNION", of.Select: "a query in a query", of.Values: "VALUES with several variables"}
                raise _unknown(named.get(type(node), type(node).__name__))

    def _rename(self, old: str, new: str) -> None:
        self.scope[new] = self.scope.pop(old)
        kept = [quoted(name) for name in self.scope if name != new]
        self._clauses.append(f"WITH {', '.join([*kept, f'{quoted(old)} AS {quoted(new)}'])}")

    def _values(self, name: str, listed: Sequence[of.Constant | None]) -> None:
        names = [one for one in listed if one is not None and one.literal is None]
        if len(names) < len(listed):
            raise _unknown("VALUES with other things than names")
        nodes = [node for one in names for node in one.nodes]
        self._clauses.append(f"MATCH ({quoted(name)}) WHERE {self._is_one_of(quoted(name), nodes)}")
        self.scope[name] = (NODE, "")

    def _group(self, node: of.Group) -> None:
        self._operator(node.of)
        cells, scope = [], {}
        for key in node.keys:
            if not isinstance(key, of.Var) or key.name not in self.scope:
                raise _unknown(f"GROUP BY {write_expression(key)}")
            cells.append(quoted(key.name))
            scope[key.name] = self.scope[key.name]
        for one in node.aggregates:
            if one.name not in _AGGREGATES or (one.of is None and one.distinct):
                raise _unknown(one.name.upper())
            inner = "*" if one.of is None else self._expression(one.of)
            if one.name == "count" and isinstance(one.of, of.Var) and self._kind(one.of.name) == NODE:
                inner = self._look.client.dialect.same.format(inner)
            cell = f"{one.name}({'DISTINCT ' * one.distinct}{inner})"
            if one.name in ("sum", "avg") and of.variables(one.of) & self._nullable:  # an unbound value: an error
                cell = f"CASE WHEN count(*) = count({inner}) THEN {cell} ELSE NULL END"
            cells.append(f"{cell} AS {quoted(one.result)}")
            scope[one.result] = (COMPUTED, "")
        self._aggregates |= {one.result for one in node.aggregates}
        self._clauses.append(f"WITH {', '.join(cells)}")
        self.scope = scope

    def _optional(self, node: of.Operator, condition: of.Expression | None) -> None:
        if not isinstance(node, of.Basic) or len(node.patterns) != 1:
            raise _unknown(f"OPTIONAL {{ {write_pattern(node)} }}")
        [pattern] = node.patterns
        before = dict(self.scope)
        key = self._property(pattern)
        if key is None:
            match, conditions = self._relationship(pattern)
            conditions += [] if condition is None else [self._expression(condition)]
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            self._clauses.append(f"OPTIONAL MATCH {match}{where}")
        else:
            if not isinstance(pattern.head, of.Var) or pattern.head.name not in self.scope:
                raise _unknown(f"OPTIONAL {{ {write_pattern(node)} }}")
            value, is_list = self._read(quoted(pattern.head.name), key)
            if is_list or not isinstance(pattern.tail, of.Var) or pattern.tail.name in self.scope:
                raise _unknown(f"OPTIONAL {{ {write_pattern(node)} }}")
            name = quoted(pattern.tail.name)
            self._clauses.append(self._handed_on(f"{value} AS {name}"))
            self.scope[pattern.tail.name] = (VALUE, key)
            if condition is not None:
                kept = [quoted(one) for one in before]
                case = f"CASE WHEN {self._expression(condition)} THEN {name} ELSE NULL END AS {name}"
                self._clauses.append(f"WITH {', '.join([*kept, case])}")
        self._nullable |= self.scope.keys() - before.keys()

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
        if unbound := sorted(of.variables(tuple(patterns)) & self._nullable):
            raise _unknown(f"?{unbound[0]} of OPTIONAL in another pattern")
        for pattern in sorted(patterns, key=self._rank):
            self._triple(pattern)
        if patterns:
            self._clauses.append(self._handed_on(distinct=True))

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
                self._clauses.append(self._handed_on(f"{self._label(head)} AS {quoted(name)}"))
                self.scope[name] = (COMPUTED, "")
            case of.Labelled(), of.Constant(literal=Literal(lexical)):
                self._bind(pattern.head, f"{self._label(head)} = {self._parameter(lexical)}")
            case of.Relations(), tail if not isinstance(tail, of.Classes):
                key = self._property(pattern)
                if key is not None:
                    self._with_property(pattern, key)
                    return
                match, both = self._relationship(pattern)
                self._clauses.append(f"MATCH {match}" + f" WHERE {' AND '.join(both)}" * bool(both))
            case _:
                raise _unknown(write_triple(pattern))

    def _bind(self, end: of.End, condition: str = "") -> None:
        """Bind a node, if it is not yet, and check a condition."""
        if not isinstance(end, of.Var) or self._kind(end.name) in (VALUE, COMPUTED):
            raise _unknown("a class or label of what is no node")
        where = f" WHERE {condition}" if condition else ""
        if end.name not in self.scope:
            self.scope[end.name] = (NODE, "")
            self._clauses.append(f"MATCH ({quoted(end.name)}){where}")
        elif where:
            self._clauses.append(self._handed_on() + where)

    def _ids(self, pattern: of.TriplePattern) -> list[str]:
        assert isinstance(pattern.predicate, of.Relations)
        return [self._look.relations.key(number) for number in pattern.predicate.numbers]

    def _property(self, pattern: of.TriplePattern) -> str | None:
        """The property that a predicate is; None if it is a type of relationships."""
        if not isinstance(pattern.predicate, of.Relations):
            raise _unknown(write_triple(pattern))
        ids = self._ids(pattern)
        keys = [id for id in ids if id in self._queries.edge_keys]
        types = [id for id in ids if id in self._look.schema.types]
        if keys and (types or len(keys) > 1):
            raise _unknown(f"{pattern.predicate.text}, which is several properties, or a property and a relationship,")
        return keys[0] if keys else None

    def _relationship(self, pattern: of.TriplePattern) -> tuple[str, list[str]]:
        """A pattern of one relationship, and conditions on its ends."""
        ends: list[str] = []
        conditions: list[str] = []
        assert not isinstance(pattern.tail, of.Classes)
        for end in pattern.ends:
            if isinstance(end, of.Var):
                if self._kind(end.name) in (VALUE, COMPUTED):
                    raise _unknown(f"?{end.name}, which is a value and a node,")
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
            self._clauses.append(f"MATCH ({head}) WHERE {self._is_one_of(head, pattern.head.nodes)}")
        value, is_list = self._read(head, key)
        name = self._new("v")
        tail = pattern.tail
        self._clauses.append(f"{self._handed_on(f'{value} AS {name}')} WHERE {name} IS NOT NULL")
        if is_list:
            whole, name = name, self._new("v")
            self._clauses.append(f"UNWIND {whole} AS {name}")
        if isinstance(tail, of.Constant):
            self._clauses.append(f"{self._handed_on(name)} WHERE {name} IN {self._natives(tail, key)}")
        elif isinstance(tail, of.Var) and tail.name in self.scope:
            if self._kind(tail.name) == NODE:
                raise _unknown(f"?{tail.name}, which is a value and a node,")
            self._clauses.append(f"{self._handed_on(name)} WHERE {name} = {quoted(tail.name)}")
        elif isinstance(tail, of.Var):
            self._clauses.append(self._handed_on(f"{name} AS {quoted(tail.name)}"))
            self.scope[tail.name] = (VALUE, key)

    def _read(self, head: str, key: str) -> tuple[str, bool]:
        """The value of a property, null where it is the label of its node; and whether it is a list."""
        several = {each.many for each in self._look.schema.properties if each.key == key}
        if len(several) > 1:
            raise _unknown(f"{key!r}, which is a list at some nodes,")
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
    def _expression(self, expression: of.Expression) -> str:
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
                listed = ", ".join(map(self._expression, others))
                return f"({'NOT ' * (name == 'not in')}{self._expression(one)} IN [{listed}])"
            case of.Call("bound", (of.Var(name),)):
                return f"({self._expression(of.Var(name))} IS NOT NULL)"
            case of.Call("not", (one,)):
                return f"(NOT {self._expression(one)})"
            case of.Call("minus", (one,)):
                return f"(-{self._expression(one)})"
            case of.Call("/", (left, right)):  # whole numbers, too
                return f"(1.0 * {self._expression(left)} / {self._expression(right)})"
            case of.Call(name, arguments) if name in _WORDS:
                return f"({f' {_WORDS[name]} '.join(map(self._expression, arguments))})"
            case of.Call(name, (left, right)) if name in _FUNCTIONS:
                return f"({_FUNCTIONS[name].format(self._expression(left), self._expression(right))})"
            case of.Call("abs" | "ceil" | "floor" | "round" as name, (one,)):
                return f"{name}({self._expression(one)})"
        raise _unknown(write_expression(expression))

    def _literal(self, literal: Literal) -> str:
        if literal.datatype in _NUMBERS:
            kind = literal.datatype.removeprefix(XSD)
            found = natives([literal.lexical], "integer" if kind in ("integer", "int", "long") else "double")
            try:
                value = found[0] if found else float(literal.lexical)
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                raise _unknown(f"the number {literal.lexical!r}")
            return repr(value)
        name = literal.datatype.removeprefix(XSD)
        known = natives([literal.lexical], name) if name in ("date", "dateTime", "boolean") else [literal.lexical]
        if not known:
            raise _unknown(f"the value {literal.lexical!r} of {name}")
        return self._parameter(known[0])

    def _is_node(self, *expressions: of.Expression) -> bool:
        named = any(isinstance(one, of.Constant) and not one.literal for one in expressions)
        return named or any(isinstance(one, of.Var) and self._kind(one.name) == NODE for one in expressions)

    def _same(self, one: of.Expression, others: Sequence[of.Expression], negated: bool) -> str:
        """Whether nodes are the same."""
        if isinstance(one, of.Constant) and len(others) == 1:
            one, others = others[0], [one]
        if not isinstance(one, of.Var) or self._kind(one.name) != NODE:
            raise _unknown("a comparison of a node with a value")
        conditions = []
        for other in others:
            if isinstance(other, of.Constant) and other.literal is None:
                conditions.append(self._is_one_of(quoted(one.name), other.nodes))
            elif isinstance(other, of.Var) and self._kind(other.name) == NODE:
                element = self._queries.element
                conditions.append(f"{element(quoted(one.name))} = {element(quoted(other.name))}")
            else:
                raise _unknown("a comparison of a node with a value")
        return f"({'NOT ' * negated}({' OR '.join(conditions)}))"

    def _exists(self, node: of.Operator) -> str:
        """EXISTS with a query in it."""
        conditions: list[of.Expression] = []
        while isinstance(node, of.Filter):
            conditions += node.conditions
            node = node.of
        if not isinstance(node, of.Basic):
            raise _unknown(f"EXISTS {{ {write_pattern(node)} }}")
        scope, read_as = dict(self.scope), dict(self._read_as)
        matches: list[str] = []
        where: list[str] = []
        used = [id for one in node.patterns if isinstance(one.predicate, of.Relations) for id in self._ids(one)]
        if len(used) > len(set(used)):  # one MATCH follows no relationship twice
            raise _unknown(f"EXISTS {{ {write_pattern(node)} }}")
        for pattern in sorted(node.patterns, key=self._rank):
            key = self._property(pattern) if isinstance(pattern.predicate, of.Relations) else None
            if isinstance(pattern.predicate, of.Relations) and key is None:
                match, more = self._relationship(pattern)
                matches.append(match)
                where += more
                continue
            if not isinstance(pattern.head, of.Var):
                raise _unknown(f"EXISTS {{ {write_pattern(node)} }}")
            if pattern.head.name not in self.scope or not matches:
                matches.append(f"({quoted(pattern.head.name)})")
            self.scope.setdefault(pattern.head.name, (NODE, ""))
            where.append(self._inside(pattern, key))
        where += [self._expression(one) for one in conditions]
        self.scope, self._read_as = scope, read_as
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        return f"EXISTS {{ MATCH {', '.join(matches)}{condition} }}"

    def _inside(self, pattern: of.TriplePattern, key: str | None) -> str:
        """A class or a property as a condition."""
        assert isinstance(pattern.head, of.Var)
        if key is None:
            if not isinstance(pattern.tail, of.Classes):
                raise _unknown(f"EXISTS {{ {write_triple(pattern)} }}")
            types = self._queries.types(quoted(pattern.head.name))
            return f"({' OR '.join(f'{self._parameter(id)} IN {types}' for id in pattern.tail.ids)})"
        value, is_list = self._read(quoted(pattern.head.name), key)
        if isinstance(pattern.tail, of.Constant):
            if is_list:
                raise _unknown(f"EXISTS {{ {write_triple(pattern)} }}")
            return f"{value} IN {self._natives(pattern.tail, key)}"
        assert isinstance(pattern.tail, of.Var)
        if pattern.tail.name in self.scope:
            return f"{value} = {quoted(pattern.tail.name)}"
        self._read_as[pattern.tail.name] = value
        return f"{value} IS NOT NULL"
