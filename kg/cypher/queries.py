"""The text of all queries of `CypherGraph`.

Values are parameters. Labels, types and property keys cannot be parameters in every engine; they come from the schema
of the graph and are quoted. In all queries `x` is the near node, `y` the other end, and `v` a value of a property.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triplecheck.kg.cypher.dialects import Dialect, quoted
from triplecheck.kg.cypher.schema import TYPES, Property, Schema
from triplecheck.kg.cypher.values import ANY, COMPARED
from triplecheck.kg.types import Direction
from triplecheck.kg.vocabulary import Vocabulary

_ARROWS = {Direction.OUT: ("-", "->"), Direction.IN: ("<-", "-")}


class Queries:
    """Writes queries for one graph."""

    def __init__(self, dialect: Dialect, schema: Schema, words: Vocabulary) -> None:
        self._dialect, self._schema, self._words = dialect, schema, words
        lists = {each.key for each in schema.properties if each.many and each.kind in ("string", ANY)}
        texts = {each.key for each in schema.properties if each.kind in ("string", ANY)} - lists
        given = words.types or ((TYPES,) if dialect.tables and TYPES in lists else ())
        self._typed = {key: key in lists for key in given if key in lists | texts}
        described = {schema.key, *self._typed, *words.aliases, *words.descriptions, *words.ignored}
        self.edge_keys = tuple(sorted(schema.keys - described - set(words.labels[:1])))
        """Properties that are relations, at least of some nodes."""

    # --- parts ---------------------------------------------------------------------------------
    def element(self, variable: str) -> str:
        """The engine's id of a node."""
        return self._dialect.element.format(variable)

    def key(self, variable: str, label: str | None = None) -> str:
        """The key of a node; null without one, also where nodes with the label have none."""
        key = self._schema.key
        return "null" if key is None or key not in self._keys_of(label) else f"{variable}.{quoted(key)}"

    def types(self, variable: str, label: str | None = None) -> str:
        """The types of a node, of one with the label if it is given, as a list."""
        labels = self._dialect.labels.format(variable)
        values = {key: f"{variable}.{quoted(key)}" for key in self.present(list(self._typed), label)}
        given = [
            value if self._typed[key] else f"CASE WHEN {value} IS NULL THEN NULL ELSE [{value}] END"
            for key, value in values.items()
        ]
        return f"coalesce({', '.join([*given, labels])})" if given else labels

    def _keys_of(self, label: str | None) -> frozenset[str]:
        """The properties that nodes with a label may have; None: any node."""
        known = self._schema.keys_of.get(label, frozenset())
        return known if label is not None and self._dialect.tables else self._schema.keys

    def present(self, keys: Sequence[str], label: str | None = None) -> list[str]:
        """Those of the keys that nodes with a label may have."""
        having = self._keys_of(label)
        return [key for key in keys if key in having]

    def before(self, key: str, label: str | None = None) -> list[str]:
        """The properties that come before one as the label of a node; none if it is no label."""
        labels = self._words.labels
        return self.present(labels[: labels.index(key)], label) if key in labels else []

    def _not_the_label(self, key: str, label: str | None) -> str | None:
        """A condition: the property is not the label of its node; None: it always is."""
        if key not in self._words.labels:
            return ""
        conditions = " OR ".join(f"x.{quoted(name)} IS NOT NULL" for name in self.before(key, label))
        return f" AND ({conditions})" if conditions else None

    def places(self, key: str) -> list[Property]:
        """Where the values of a property are, each once; without a label and a kind: at all nodes."""
        of_key = [each for each in self._schema.properties if each.key == key]
        if self._dialect.tables:
            return of_key
        return [Property(None, key, "", many) for many in (False, True) if any(each.many is many for each in of_key)]

    def _values(self, place: Property) -> str | None:
        """Everything up to x and v; None: nodes with this label have none."""
        allowed = self._not_the_label(place.key, place.label)
        if allowed is None:
            return None
        value = f"x.{quoted(place.key)}"
        conditions = f"{value} IS NOT NULL{allowed}"
        if self._dialect.kind:
            is_list = f"{self._dialect.kind.format(value)} STARTS WITH 'LIST'"
            mixed = len(self.places(place.key)) > 1
            conditions += f" AND {is_list}" if place.many else f" AND NOT {is_list}" if mixed else ""
        start = f"MATCH {node('x', place.label)} WHERE {conditions} "
        return start + (f"UNWIND {value} AS v WITH x, v" if place.many else f"WITH x, {value} AS v")

    # --- relationships -------------------------------------------------------------------------
    def relationships(self, label: str | None, type: str | None, direction: Direction) -> str:
        """Rows (x, type, y, key of y) of the nodes in `$at`."""
        cells = self.near(label), self._dialect.type.format("r"), self.element("y"), self.key("y")
        return f"{self._follow(label, type, direction)} RETURN DISTINCT {columns(cells)}"

    def near(self, label: str | None) -> str:
        """What identifies x among nodes with a label."""
        return f"offset({self.element('x')})" if self._dialect.tables and label is not None else self.element("x")

    def _at(self, label: str | None) -> str:
        return f"{self.near(label)} IN $at"

    def _follow(self, label: str | None, type: str | None, direction: Direction) -> str:
        before, after = _ARROWS[direction]
        of_type = "" if type is None else f":{quoted(type)}"
        return f"MATCH {node('x', label)}{before}[r{of_type}]{after}(y) WHERE {self._at(label)}"

    def some(self, label: str | None, type: str, direction: Direction, index: int, place: int, limit: int) -> str:
        """Rows (place, y, key of y), at most `limit`, of the node in `$at<index>`."""
        follow = self._follow(label, type, direction).replace("IN $at", f"= $at{index}")
        cells = f"{place:d} AS i, {self.element('y')} AS y, {self.key('y')} AS k"
        return f"{follow} RETURN DISTINCT {cells} LIMIT {limit:d}"

    def counts(self, label: str | None, type: str | None, direction: Direction) -> str:
        """Rows (x, type, number of distinct y) of the nodes in `$at`."""
        other = self._dialect.same.format("y")
        return (
            f"{self._follow(label, type, direction)} RETURN {self.near(label)}, "
            f"{self._dialect.type.format('r')}, count(DISTINCT {other})"
        )

    def between(self, label: str | None, type: str, *, statements: bool = False) -> str:
        """Rows (x, y): nodes in `$at` that are joined to one of those in `$to`; or (x, y, properties) of each."""
        to = f"offset({self.element('y')})" if self._dialect.tables else self.element("y")
        cells = f"{self.near(label)}, {self.element('y')}"
        cells = f"{cells}, properties(r)" if statements else f"DISTINCT {cells}"
        return f"{self._follow(label, type, Direction.OUT)} AND {to} IN $to RETURN {cells}"

    # --- properties ----------------------------------------------------------------------------
    def read(self, label: str | None, keys: Sequence[str], *, types: bool = False) -> str:
        """Rows (x, types, value of each key) of the nodes in `$at`."""
        cells = [self.near(label), self.types("x", label) if types else "null", *(f"x.{quoted(key)}" for key in keys)]
        return f"MATCH {node('x', label)} WHERE {self._at(label)} RETURN {columns(cells)}"

    def having(self, found: Property, index: int) -> str | None:
        """Rows (index, x, key of x, v): nodes with one of the `$values<index>`.

        None: no edge of theirs has this property.
        """
        start = self._comparing(found, found.kind, index)
        end = columns([f"{index:d}", self.element("x"), self.key("x", found.label), "v"])
        return start and f"{start}RETURN DISTINCT {end}"

    def compared(self, place: Property, kind: str, index: int) -> str | None:
        """Rows (index, v, number of nodes): those of the `$values<index>`, all of one kind, that occur."""
        start = self._comparing(place, kind, index)
        end = columns([f"{index:d}", "v", f"count(DISTINCT {self._dialect.same.format('x')})"])
        return start and f"{start}RETURN {end}"

    def _comparing(self, place: Property, kind: str, index: int) -> str | None:
        if place.many or kind in COMPARED:
            body = self._values(place)
            compared = {"text": self._dialect.text, "double": "CAST({} AS DOUBLE)"}.get(COMPARED.get(kind, ""), "{}")
            return None if body is None else f"{body} WHERE {compared.format('v')} IN $values{index:d} "
        value = f"x.{quoted(place.key)}"
        allowed = self._not_the_label(place.key, place.label)
        if allowed is None:
            return None
        # The comparison comes first and alone, so that an index can answer it.
        return f"MATCH {node('x', place.label)} WHERE {value} IN $values{index:d}{allowed} WITH x, {value} AS v "

    # --- nodes by key, name and type -----------------------------------------------------------
    def located(self, label: str | None) -> str:
        """Rows (x, key): nodes whose key is one of `$keys`."""
        key = self.key("x")
        end = f"RETURN {columns([self.element('x'), key])}"
        if self._dialect.tables:
            return f"UNWIND $keys AS k MATCH {node('x', label)} WHERE {key} = k {end}"
        return f"MATCH {node('x', label)} WHERE {key} IN $keys {end}"

    def exists(self, label: str | None) -> str:
        """Rows (x, key): the nodes in `$at`."""
        cells = self.element("x"), self.key("x", label)
        return f"MATCH {node('x', label)} WHERE {self._at(label)} RETURN {columns(cells)}"

    def named(self, found: Property, index: int) -> str:
        """Rows (index, x, key, v): nodes one of whose names in this property is one of `$values<index>`."""
        value, label = f"x.{quoted(found.key)}", found.label
        end = f"RETURN DISTINCT {columns([f'{index:d}', self.element('x'), self.key('x', label), 'v'])}"
        if found.many:
            is_list = f" AND {self._dialect.kind.format(value)} STARTS WITH 'LIST'" if self._dialect.kind else ""
            start = f"MATCH {node('x', label)} WHERE {value} IS NOT NULL{is_list} UNWIND {value} AS v WITH x, v "
            return f"{start}WHERE v IN $values{index:d} {end}"
        first = "".join(f" AND x.{quoted(other)} IS NULL" for other in self.before(found.key, label))
        return f"MATCH {node('x', label)} WHERE {value} IN $values{index:d}{first} WITH x, {value} AS v {end}"

    def of_type(self, type_id: str, limit: int) -> str:
        """Rows (x, key): nodes of a type, which is also `$type`."""
        if not self._typed and type_id in self._schema.labels:
            match = f"MATCH {node('x', type_id)}"
        else:
            match = f"MATCH (x) WHERE $type IN {self.types('x')}"
        return f"{match} RETURN {columns([self.element('x'), self.key('x')])} LIMIT {limit:d}"

    # --- the whole graph -----------------------------------------------------------------------
    def count_nodes(self) -> str:
        """One row (number)."""
        return "MATCH (x) RETURN count(*)"

    def count_types(self) -> str:
        """Rows (type, number)."""
        return f"MATCH (x) UNWIND {self.types('x')} AS t RETURN t, count(*)"

    def after(self, label: str | None, keys: Sequence[str], limit: int, *, first: bool) -> str:
        """Rows (x, key, value of each key): the nodes after `$last` by the engine's id, or the first ones."""
        start = f"MATCH {node('x', label)}" + ("" if first else f" WHERE {self.near(label)} > $last")
        cells = [self.element("x"), self.key("x", label), *(f"x.{quoted(key)}" for key in keys)]
        return f"{start} RETURN {columns(cells)} ORDER BY {self.near(label)} LIMIT {limit:d}"

    def values(self, place: Property, longest: int | None) -> str | None:
        """Rows (v): the distinct values of a property."""
        body = self._values(place)
        short = "" if longest is None else f" WHERE size({self._dialect.text.format('v')}) <= {longest:d}"
        return None if body is None else f"{body}{short} RETURN DISTINCT v"

    # --- the schema of one relation ------------------------------------------------------------
    def relationship_schema(self, type: str) -> Iterator[str]:
        """Queries with one row (number of edges), with rows (type of a head, edges), and (type of a tail, edges)."""
        same = [f"{self._dialect.same.format(variable)} AS {variable}_id" for variable in "xy"]
        start = f"MATCH (x)-[:{quoted(type)}]->(y) WITH DISTINCT {', '.join(same)}"
        yield f"{start} RETURN count(*)"
        for variable in "xy":
            yield f"{start}, {self.types(variable)} AS ts UNWIND ts AS t RETURN t, count(*)"

    def property_schema(self, place: Property) -> Iterator[str]:
        """Queries with rows (kind of the values, edges), and (type of a head, edges)."""
        body = self._values(place)
        if body is None:
            return
        kind = self._dialect.kind.format("v") if self._dialect.kind else f"'{place.kind}'"
        same = self._dialect.same.format("x")
        yield f"{body} WITH DISTINCT {same} AS x_id, v RETURN {kind} AS k, count(*)"
        types = self.types("x", place.label)
        yield f"{body} WITH DISTINCT {same} AS x_id, {types} AS ts, v UNWIND ts AS t RETURN t, count(*)"


def node(variable: str, label: str | None) -> str:
    """The pattern of a node."""
    return f"({variable})" if label is None else f"({variable}:{quoted(label)})"


def columns(cells: Iterable[str]) -> str:
    """What a query returns: each column has a name of its own, also where two have the same content."""
    return ", ".join(f"{cell} AS c{number}" for number, cell in enumerate(cells))
