"""How files and other sources of a graph are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers.columns import TRIPLE_COLUMNS


@dataclass(frozen=True)
class TableOptions:
    """How wide tables are read. `TABLE` is the name of a file without its ending, of a sheet or of a table.

    Attributes:
        wide: files that are wide tables, whatever they look like.
        triples: files that hold triples, whatever they look like.
        key: `COLUMN`, or `TABLE=COLUMN`: the column that names the rows.
        split: `SEPARATOR`, or `COLUMN=SEPARATOR`: what separates several values of a cell; `none`: nothing does.
            Without it, ";" or "|" where most values beside it also stand alone or beside others.
        links: `COLUMN=TABLE`: the column holds names or keys of the rows of a table. A column of one table alone is
            called `TABLE.COLUMN`, also in `split`.
        classes: `NAME`, or `TABLE=NAME`: the class of the things, instead of the name of the table.
        day_first: whether 03/04/2024 is in April. None: as the other dates of the column say.
    """

    wide: Sequence[str] = ()
    triples: Sequence[str] = ()
    key: Sequence[str] = ()
    split: Sequence[str] = ()
    links: Sequence[str] = ()
    classes: Sequence[str] = ()
    day_first: bool | None = None


def table_options(given: Mapping[str, Any]) -> tuple[TableOptions, dict[str, Any]]:
    """Options of wide tables, where a text may be one of several and a dict `NAME=VALUE`s; and the other options."""
    names = {one.name for one in fields(TableOptions)} - {"wide", "triples"}
    options: dict[str, Any] = {}
    for name in names & given.keys():
        value = given[name]
        if isinstance(value, Mapping):
            value = [f"{key}={one}" for key, one in value.items()]
        options[name] = [value] if isinstance(value, str) else value
    return TableOptions(**options), {name: value for name, value in given.items() if name not in names}


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a graph is read.

    Attributes:
        mapping: columns of tables and data frames, such as `{"head": "customer"}`; `datatype` names the column with the
            datatype IRIs of literal tails.
        header: whether the first line of a table is a header. None: if it has the usual names of columns.
        edge_properties: further columns to keep as properties of the edges, or the only one; `*` for all.
        tables: how wide tables are read.
        skip_bad: skip malformed lines, of Turtle malformed statements, and list them.
        axioms: whether axioms of RDF files are edges. None: if most subjects are classes and relations. False: nor do
            types have superclasses and relations inverses.
        language: preferred language of labels and descriptions, such as `de`.
        strict: refuse IRIs and language tags that RDF does not allow and other parsers read; else they are counted.
        fetch_contexts: read the contexts that a JSON-LD file refers to, from the network or from local files. Without
            it such a file is refused, because its author would choose what is read.
        first_blank: number of the first blank node, so that none has the id of another graph's.
        progress: called while files are read.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    header: bool | None = None
    edge_properties: Sequence[str] = ()
    tables: TableOptions = field(default_factory=TableOptions)
    skip_bad: bool = False
    axioms: bool | None = None
    language: str = "en"
    strict: bool = False
    fetch_contexts: bool = False
    first_blank: int = 0
    progress: ProgressCallback = no_progress

    @property
    def properties(self) -> Sequence[str]:
        """The columns of `edge_properties`."""
        return [self.edge_properties] if isinstance(self.edge_properties, str) else self.edge_properties

    @property
    def of_triples(self) -> bool:
        """Whether columns of triples are named, so that no table is wide."""
        return bool(self.properties) or any(self.mapping.get(name) for name in TRIPLE_COLUMNS)


DEFAULTS = ReadOptions()
