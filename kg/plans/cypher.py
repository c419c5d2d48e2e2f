"""Plans as Cypher, for property graphs: patterns, conditions, OPTIONAL, MINUS, EXISTS, groups, order and limits.

A query is a pipeline: each clause hands its variables on to the next. A variable is a node or a value. Values are
parameters, so that nothing in them is read as Cypher.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triplecheck.kg.cypher.dialects import quoted
from triplecheck.kg.cypher.graph import CypherGraph
from triplecheck.kg.plans import algebra as of
from triplecheck.kg.plans.cypher_patterns import COMPUTED, NODE, VALUE, Patterns, unknown
from triplecheck.kg.plans.plan import Plan
from triplecheck.kg.plans.write import write_expression, write_pattern

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


class _Writer(Patterns):
    # --- queries ---------------------------------------------------------------------------------
    def query(self, query: of.Select, ask: bool, rows: int) -> str:
        self.operator(query.of)
        if ask:
            return " ".join([*self.clauses, "RETURN 1 LIMIT 1"])
        missing = [name for name in query.names if name not in self.scope]
        shown = [quoted(name) for name in query.names if name not in missing]
        order = [key for one, down in query.order for key in self._keys(one, down)]
        kept = shown if query.distinct else self._kept()
        if query.distinct:
            self.clauses.append(f"WITH DISTINCT {', '.join(shown)}")
        elif not kept:
            kept = ["1 AS one"]
        length = rows if query.length is None else query.length
        end = f"ORDER BY {', '.join(order)} " * bool(order) + f"SKIP {query.start} " * bool(query.start)
        self.clauses.append(f"WITH {', '.join(kept)} {end}LIMIT {length}")
        cells = [cell for name in query.names for cell in self._cells(name)]
        numbered = [f"{cell} AS c{number}" for number, cell in enumerate(cells)]
        return " ".join([*self.clauses, f"RETURN {', '.join(numbered) or '1 AS c0'}"])

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
            text = self.expression(expression)
        names = of.variables(expression)
        # SPARQL has unbound rows first.
        return [f"({text} IS NOT NULL){way}" for _ in [0] if names & self.optional] + [f"{text}{way}"]

    # --- operators -------------------------------------------------------------------------------
    def operator(self, node: of.Operator) -> None:
        """Add the clauses of a pattern."""
        match node:
            case of.Basic(patterns):
                self._basic(patterns)
            case of.Join(left, right):
                self.operator(left)
                self.operator(right)
            case of.Filter(inner, conditions):
                self.operator(inner)
                for one in conditions:
                    self.clauses.append(f"{self._handed_on()} WHERE {self.expression(one)}")
            case of.Extend(inner, name, value):
                self.operator(inner)
                if isinstance(value, of.Var) and value.name in self._aggregates:
                    self._rename(value.name, name)
                    return
                self.clauses.append(self._handed_on(f"{self.expression(value)} AS {quoted(name)}"))
                self.scope[name] = (COMPUTED, "")
            case of.Minus(left, right):
                self.operator(left)
                shared = {name for name in of.variables(right) if name in self.scope}
                if shared and not shared & self.optional:
                    self.clauses.append(f"{self._handed_on()} WHERE NOT {self._exists(right)}")
                elif shared:
                    raise unknown("MINUS on variables of OPTIONAL")
            case of.LeftJoin(left, right, condition):
                self.operator(left)
                self._optional(right, condition)
            case of.Group():
                self._group(node)
            case of.Values(names, rows) if len(names) == 1 and names[0] not in self.scope:
                self._values(names[0], [row[0] for row in rows])
            case _:
                named = {of.Union: "UNION", of.Select: "a query in a query", of.Values: "VALUES with several variables"}
                raise unknown(named.get(type(node), type(node).__name__))

    def _rename(self, old: str, new: str) -> None:
        self.scope[new] = self.scope.pop(old)
        kept = [quoted(name) for name in self.scope if name != new]
        self.clauses.append(f"WITH {', '.join([*kept, f'{quoted(old)} AS {quoted(new)}'])}")

    def _values(self, name: str, listed: Sequence[of.Constant | None]) -> None:
        names = [one for one in listed if one is not None and one.literal is None]
        if len(names) < len(listed):
            raise unknown("VALUES with other things than names")
        nodes = [node for one in names for node in one.nodes]
        self.clauses.append(f"MATCH ({quoted(name)}) WHERE {self._is_one_of(quoted(name), nodes)}")
        self.scope[name] = (NODE, "")

    def _group(self, node: of.Group) -> None:
        self.operator(node.of)
        cells, scope = [], {}
        for key in node.keys:
            if not isinstance(key, of.Var) or key.name not in self.scope:
                raise unknown(f"GROUP BY {write_expression(key)}")
            cells.append(quoted(key.name))
            scope[key.name] = self.scope[key.name]
        for one in node.aggregates:
            if one.name not in _AGGREGATES or (one.of is None and one.distinct):
                raise unknown(one.name.upper())
            inner = "*" if one.of is None else self.expression(one.of)
            if one.name == "count" and isinstance(one.of, of.Var) and self._kind(one.of.name) == NODE:
                inner = self._look.client.dialect.same.format(inner)
            cell = f"{one.name}({'DISTINCT ' * one.distinct}{inner})"
            if one.name in ("sum", "avg") and of.variables(one.of) & self.optional:  # unbound values make an error
                cell = f"CASE WHEN count(*) = count({inner}) THEN {cell} ELSE NULL END"
            cells.append(f"{cell} AS {quoted(one.result)}")
            scope[one.result] = (COMPUTED, "")
        self._aggregates |= {one.result for one in node.aggregates}
        self.clauses.append(f"WITH {', '.join(cells)}")
        self.scope = scope

    def _optional(self, node: of.Operator, condition: of.Expression | None) -> None:
        if not isinstance(node, of.Basic) or len(node.patterns) != 1:
            raise unknown(f"OPTIONAL {{ {write_pattern(node)} }}")
        [pattern] = node.patterns
        before = dict(self.scope)
        key = self._property(pattern)
        if key is None:
            match, conditions = self._relationship(pattern)
            conditions += [] if condition is None else [self.expression(condition)]
            where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
            self.clauses.append(f"OPTIONAL MATCH {match}{where}")
        else:
            if not isinstance(pattern.head, of.Var) or pattern.head.name not in self.scope:
                raise unknown(f"OPTIONAL {{ {write_pattern(node)} }}")
            value, is_list = self._read(quoted(pattern.head.name), key)
            if is_list or not isinstance(pattern.tail, of.Var) or pattern.tail.name in self.scope:
                raise unknown(f"OPTIONAL {{ {write_pattern(node)} }}")
            name = quoted(pattern.tail.name)
            self.clauses.append(self._handed_on(f"{value} AS {name}"))
            self.scope[pattern.tail.name] = (VALUE, key)
            if condition is not None:
                kept = [quoted(one) for one in before]
                case = f"CASE WHEN {self.expression(condition)} THEN {name} ELSE NULL END AS {name}"
                self.clauses.append(f"WITH {', '.join([*kept, case])}")
        self.optional |= self.scope.keys() - before.keys()
