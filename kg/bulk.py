"""Builds the default store from more triples than memory holds: DuckDB numbers and sorts them on disk.

The files are those of `numbering.number` and `columnar_build.write_graph`, byte for byte. Memory grows with the number
of nodes, not of triples: ids, labels and names are in memory while they are indexed. The queries hold numbers and names
of our own, no text from outside.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from triplecheck.kg import numbering, own_units
from triplecheck.kg._arrays import npy_file, smallest_unsigned
from triplecheck.kg.classes import named_memberships, told_memberships
from triplecheck.kg.columnar_build import Int, NumberedGraph, SchemaCounts, node_dtype, write_nodes
from triplecheck.kg.errors import StorageError, UserError, extra
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.raw import UNKNOWN, RawGraph, nothing, without_triples
from triplecheck.kg.types import Relation
from triplecheck.kg.values.own import FORM
from triplecheck.kg.values.units import own_unit

MEMORY = 2.0
"""Gigabytes that DuckDB uses unless it is told otherwise."""

_ROWS = 1 << 20  # read from DuckDB at once
_LOOKED_THROUGH = 10_000_000
"""A larger graph is not searched for a relation to classes with an unusual name."""
_FIRST, _LAST = 43, 57  # "+" and "9": a text of one of `numbering.FORMS` begins between them


class Triples:
    """Triples on disk, added part by part, then written as a graph. Use it as a context manager.

    Args:
        scratch: a new folder for what is held on disk.
        memory: gigabytes that DuckDB may use before it writes to disk.

    Attributes:
        about: what the parts say besides triples; its own columns of triples are empty.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """

    def __init__(self, scratch: Path, memory: float) -> None:
        with extra("sql", "Building outside of memory"):
            import duckdb
        scratch.mkdir()
        self._scratch = scratch
        self._failure = duckdb.Error
        self._sql = duckdb.connect(
            str(scratch / "triples.duckdb"),
            config={"memory_limit": f"{int(memory * 1000)}MB", "temp_directory": str(scratch / "spilled")},
        )
        self._sql.execute("set enable_progress_bar = false")  # it would be written to standard output
        self._sql.execute("create table t (h varchar, r integer, t varchar, k smallint)")
        self._sql.execute("create table described (id varchar, p bigint)")
        self._relations: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self.about = without_triples(nothing())
        self.rows = self._dropped = 0

    def __enter__(self) -> Triples:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _close(self) -> None:
        self._sql.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def add(self, part: RawGraph) -> None:
        """Add the triples and descriptions of a part.

        Raises:
            UserError: it has edge properties.
            StorageError: the disk is full.
        """
        part = numbering.with_truths(part)
        if part.edge_properties.num_rows:
            raise UserError("a graph with edge properties is built in memory: leave out --memory")
        with self._stored():
            if len(part):
                kinds = numbering.all_unknown(len(part)) if part.datatypes is None else part.datatypes
                columns = {
                    "h": part.heads.cast(pa.string()),
                    "r": _numbered(part.relations, self._relations),
                    "t": part.tails.cast(pa.string()),
                    "k": _numbered(kinds, self._kinds).cast(pa.int16()),
                }
                self._insert("t", pa.table(columns))
            if part.entities.num_rows:
                places = np.arange(part.entities.num_rows) + self.about.entities.num_rows
                self._insert("described", pa.table({"id": part.entities["id"], "p": places}))
        self.rows += len(part)
        self.about = numbering.concat([self.about, without_triples(part)])

    def drop(self, heads: set[str]) -> None:
        """Remove the triples with these heads."""
        if heads:
            with self._stored():
                self._sql.register("part", pa.table({"h": pa.array(sorted(heads), pa.string())}))
                self._sql.execute("delete from t where h in (select h from part)")
                self._sql.unregister("part")
                self._dropped = self.rows - self._count("t")

    def ends(self, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The distinct heads and entity tails that are among some ids; further heads, up to twice as many as ids, that
        are no blank nodes."""
        with self._stored():
            self._sql.register("part", pa.table({"id": ids}))
            heads = "select distinct h s from t where h"
            known = self._texts(f"{heads} in (select id from part)")  # nosec B608
            others = f"{heads} not in (select id from part) and not starts_with(h, '_:') limit {2 * len(ids)}"  # nosec B608
            found = pa.concat_arrays([known, self._texts(others)])
            tails = self._texts("select distinct t s from t where k is null and t in (select id from part)")
            self._sql.unregister("part")
        return found, tails

    @property
    def kept(self) -> int:
        """Number of triples that were not dropped."""
        return self.rows - self._dropped

    def _insert(self, name: str, table: pa.Table) -> None:
        self._sql.register("part", table)
        self._sql.execute(f"insert into {name} select * from part")  # nosec B608: the names are ours
        self._sql.unregister("part")

    @contextlib.contextmanager
    def _stored(self) -> Iterator[None]:
        try:
            yield
        except self._failure as error:
            raise StorageError(
                f"sorting on disk failed ({str(error).splitlines()[0]}); free some space, choose another disk or give "
                "it more memory (--memory GB)"
            ) from error

    def write_graph(self, folder: Path, progress: ProgressCallback = no_progress) -> NumberedGraph:
        """Write all files of the graph into an existing, empty folder.

        Returns:
            The graph without its edges.

        Raises:
            StorageError: the disk is full, or DuckDB needs more memory.
        """
        with self._stored():
            progress("numbering nodes", 0, None)
            datatypes = self._separate_values()
            self._number_nodes()
            progress("numbering edges", 0, None)
            self._number_edges()
            graph = self._describe(datatypes)
            progress("sorting edges", 0, None)
            counts = SchemaCounts(graph)
            for near, relations, far in self._write_rows(folder, "out", "h", "t", graph):
                counts.add(near, relations, far)
            for _ in self._write_rows(folder, "in", "t", "h", graph):
                pass
        self._close()
        write_nodes(graph, counts, folder)
        return graph

    # --- values and entities ---------------------------------------------------------------------
    def _separate_values(self) -> list[str]:
        """Define `rows`: the triples with their place `p` and the datatype `v` of their tail, -1 for an entity.

        Returns:
            The datatypes that occur.
        """
        names = list(self._kinds)
        unknown = self._kinds.get(UNKNOWN, -1)
        by_form: dict[int, int] = {}
        relations: list[int] = []
        if unknown >= 0:
            names += [form for form in numbering.FORMS if form not in names]
            by_form = {number: names.index(form) for number, form in enumerate(numbering.FORMS)}
            relations = self._relations_of_values(unknown)
        guess = "-1"
        if relations:
            forms = " ".join(f"when {form} then {code}" for form, code in by_form.items())
            guess = f"case when r in {_listed(relations)} then coalesce(case f {forms} end, -1) else -1 end"
        value = f"case when k is null then -1 when k = {unknown} then {guess} else k end"
        joined = f"left join forms on k = {unknown} and t.t = forms.s" if relations else ""
        if units := self._amounts(names):
            names += [one for one in units if one not in names]
            codes = " ".join(f"when {place} then {names.index(one)}" for place, one in enumerate(units))
            given = _listed([code for code, name in enumerate(names) if own_unit(name) is not None])
            value = f"case when place is null or k in {given} then {value} else case place {codes} end end"
            plain = self._kinds_of_amounts()
            joined += f" left join amounts on r = relation and t.t = amount and (k is null or k in {plain})"
        self._sql.execute(f"create view typed as select t.rowid p, h, r, t.t t, {value} v from t {joined}")  # nosec B608
        present = [v for (v,) in self._rows("select distinct v from typed where v >= 0 order by v")]
        codes = " ".join(f"when {v} then {code}" for code, v in enumerate(present))
        renumbered = f"case v {codes} else -1 end" if present else "-1"
        self._sql.execute(f"create view rows as select p, h, r, t, {renumbered} v from typed")  # nosec B608
        return [names[v] for v in present]

    def _relations_of_values(self, unknown: int) -> list[int]:
        """Write the table `forms` of tails with the form of a value; the relations whose tails are values."""
        tests = " ".join(
            f"when regexp_matches(s, '{pattern}') then {number}"
            for number, pattern in enumerate(numbering.FORMS.values())
        )
        self._sql.execute(
            f"create table forms as select s, f, exists (select 1 from t where h = s) is_head from ("  # nosec B608
            f"select s, case {tests} end f from (select distinct t s from t where k = {unknown} "
            f"and ascii(t) between {_FIRST} and {_LAST})) where f is not null and s not in (select id from described)"
        )
        within = f"from t join forms on t.t = s where k = {unknown}"
        rows = self._rows(
            f"select r, count(*), count(f), count(f) filter (where is_head) from (select distinct r, t from t "  # nosec B608
            f"where k = {unknown} and r in (select distinct r {within})) left join forms on t = s group by r"
        )
        if not rows:
            return []
        found = np.array(rows, np.int64)
        return found[numbering.has_values(*found.T[1:])][:, 0].tolist()  # type: ignore[no-any-return]

    def _kinds_of_amounts(self) -> str:
        """A list in SQL: the codes of the datatypes that an amount in a unit of the graph may have."""
        return _listed([code for name, code in self._kinds.items() if own_units.may_be_amount(name)])

    def _amounts(self, datatypes: Sequence[str]) -> list[str]:
        """Write the table `amounts` in units of the graph (relation, amount), with the place of their datatypes.

        Returns:
            These datatypes.
        """
        plain = self._kinds_of_amounts()
        found = self._sql.sql(
            f"select distinct r, t s from t where (k is null or k in {plain}) "  # nosec B608
            f"and ascii(t) between {_FIRST} and {_LAST} and regexp_matches(t, '{FORM}') "
            "and t not in (select id from described) and t not in (select h from t)"
        ).to_arrow_table()
        if not found.num_rows:
            return []
        relations = found["r"].to_numpy()
        tails = np.zeros(len(self._relations), np.int64)
        listed = _listed(np.unique(relations).tolist())
        rows = self._rows(f"select r, count(distinct t) from t where r in {listed} group by r")  # nosec B608
        for relation, number in rows:
            tails[relation] = number
        texts = found["s"].combine_chunks()
        places, names = own_units.amounts(relations, texts, tails, datatypes)
        if names:
            kept = pa.table({"relation": relations, "amount": texts, "place": places}).filter(pa.array(places >= 0))
            self._sql.register("part", kept)
            self._sql.execute("create table amounts as select * from part")
            self._sql.unregister("part")
        return names

    # --- numbers ---------------------------------------------------------------------------------
    def _number_nodes(self) -> None:
        """Write the tables `nodes` (s, i) of entities and `vals` (s, v, i) of values, in the order of their numbers.

        Entities are in the order of their first use as head, then as tail, then of their descriptions.
        """
        self._sql.execute(
            f"create table nodes as select s, row_number() over (order by p) - 1 i from ("  # nosec B608
            f"select s, min(p) p, bool_or(e) e from (select h s, min(rowid) p, true e from t group by h "
            f"union all select t, min(p) + {self.rows}, bool_or(v < 0) from rows group by t "
            f"union all select id, min(p) + {2 * self.rows}, true from described group by id) group by s) where e"
        )
        self._entities = self._count("nodes")
        self._sql.execute(
            f"create table vals as select a.t s, v, {self._entities} + row_number() over (order by p, v) - 1 i "  # nosec B608
            "from (select distinct t, v from rows where v >= 0) a join (select t, min(p) p from rows "
            "where t in (select t from rows where v >= 0) group by t) b on a.t = b.t"
        )
        self._nodes = self._entities + self._count("vals")

    def _number_edges(self) -> None:
        kind = "integer" if node_dtype(self._nodes) is np.int32 else "bigint"
        self._sql.execute(f"create table edges (h {kind}, r integer, t {kind})")
        heads = "insert into edges select a.i, r, b.i from rows join nodes a on h = a.s join"
        self._sql.execute(f"{heads} nodes b on t = b.s where v < 0")
        self._sql.execute(f"{heads} vals b on t = b.s and rows.v = b.v where rows.v >= 0")
        for name in ("view rows", "view typed", "table if exists forms", "table if exists amounts", "table t"):
            self._sql.execute(f"drop {name}")

    def _describe(self, datatypes: list[str]) -> NumberedGraph:
        ids, lexical = self._texts("select s from nodes order by i"), self._texts("select s from vals order by i")
        if ids.type != lexical.type:
            ids, lexical = ids.cast(pa.large_string()), lexical.cast(pa.large_string())
        literal_datatypes = self._ints("select v from vals order by i")[0].astype(np.int32)
        relation_ids = pa.array(self._relations, pa.string())
        raw = replace(self.about, relations=pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), relation_ids))
        relations, _ = numbering.relation_rows(raw, np.ones(len(relation_ids), bool))
        members = _listed(self._memberships(relations))
        within = f"r in {members} and t < {self._entities}"
        classes = self._ints(f"select distinct h, t from edges where {within} order by h, t", 2)  # nosec B608
        places = self._ints("select i from described d join nodes on d.id = nodes.s order by d.p")[0]
        nodes = numbering.describe_nodes(raw, ids, lexical, places, np.stack(classes, axis=1))
        for name in ("nodes", "vals"):
            self._sql.execute(f"drop table {name}")
        none = np.empty(0, np.int64)
        return NumberedGraph(
            heads=none,
            relations=none,
            tails=none,
            literal_datatypes=literal_datatypes,
            datatypes=datatypes,
            relation_table=relations,
            **nodes,
        )

    def _memberships(self, relations: Sequence[Relation]) -> list[int]:
        """The relations to classes. A graph that is too large for memory has only those with a usual name."""
        found = named_memberships(relations)
        if found or numbering.has_types(self.about) or self.kept > _LOOKED_THROUGH:
            return found
        heads, numbers, tails = self._ints("select h, r, t from edges", 3)
        return told_memberships(heads, numbers, tails, self._entities)

    def _write_rows(
        self, folder: Path, name: str, near: str, far: str, graph: NumberedGraph
    ) -> Iterator[tuple[Int, Int, Int]]:
        """Write one direction of the distinct edges, and yield them block by block."""
        degrees = np.zeros(self._nodes + 1, np.int64)
        node, relation = node_dtype(self._nodes), smallest_unsigned(len(graph.relation_table))
        last = None
        with (
            npy_file(folder / f"{name}_relations.npy", relation) as write_relations,
            npy_file(folder / f"{name}_ends.npy", node) as write_ends,
        ):
            for block in self._blocks(f"select {near} a, r, {far} b from edges order by a, r, b"):  # nosec B608
                kept = np.ones(len(block[0]), bool)
                kept[1:] = np.any([column[1:] != column[:-1] for column in block], axis=0)
                kept[0] = last != [column[0] for column in block]
                last = [column[-1] for column in block]
                a, r, b = (column[kept] for column in block)
                if len(a):
                    counts = np.bincount(a - a[0])
                    degrees[a[0] + 1 : a[0] + 1 + len(counts)] += counts
                write_relations(r)
                write_ends(b)
                yield a, r, b
        np.save(folder / f"{name}_offsets.npy", np.cumsum(degrees))

    # --- reading from DuckDB ---------------------------------------------------------------------
    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._sql.execute(query).fetchall()
        return found

    def _count(self, table: str) -> int:
        return int(self._rows(f"select count(*) from {table}")[0][0])  # nosec B608: the names are ours

    def _blocks(self, query: str) -> Iterator[list[npt.NDArray[Any]]]:
        for batch in self._sql.sql(query).to_arrow_reader(_ROWS):
            if batch.num_rows:
                yield [column.to_numpy(zero_copy_only=False) for column in batch.columns]

    def _ints(self, query: str, columns: int = 1) -> list[Int]:
        none = [np.empty(0, np.int64)] * columns
        return [np.concatenate(parts) for parts in zip(none, *self._blocks(query), strict=True)]

    def _texts(self, query: str) -> pa.Array:
        parts = [batch.column(0) for batch in self._sql.sql(query).to_arrow_reader(_ROWS)]
        kind = pa.string() if sum(part.nbytes for part in parts) < 2**31 else pa.large_string()
        return pa.concat_arrays([pa.array([], kind), *(part.cast(kind) for part in parts)])


def _numbered(column: pa.DictionaryArray, numbers: dict[str, int]) -> pa.Array:
    """A column as numbers of its values; new values get the next ones."""
    places = [numbers.setdefault(value, len(numbers)) for value in column.dictionary.to_pylist()]
    return pa.array(places, pa.int32()).take(column.indices)


def _listed(numbers: list[int]) -> str:
    return f"({', '.join(map(str, [*numbers, -1]))})"
