"""Wide tables as graphs: a row is a thing, a column a relation, a column of names or keys of another table an edge."""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from triplecheck.kg.errors import UserError
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readable import relation_label, singular
from triplecheck.kg.readers.cells import Typed, Value, separator, typed, uses_decimal_commas
from triplecheck.kg.readers.columns import plain
from triplecheck.kg.readers.options import TableOptions
from triplecheck.kg.readers.raw import (
    ENTITY_SCHEMA,
    RELATION_SCHEMA,
    BadLine,
    RawGraph,
    StringColumns,
)
from triplecheck.kg.types import XSD, Literal
from triplecheck.kg.values import HALF_A_CHARACTER, quantity

_IDS = ("id", "key", "code", "number", "no", "nr", "uid", "uuid", "ref", "sku")  # ends of names of columns with keys
_SURE_IDS = ("id", "key")
_NAMES = ("name", "title", "label", "fullname", "displayname")
_FIRST_NAMES, _LAST_NAMES = ("firstname", "givenname", "forename"), ("lastname", "surname", "familyname")
_DESCRIPTIONS = ("description",)
_PEOPLE = {"people": "person", "children": "child", "men": "man", "women": "woman", "staff": "person"}
_ROLES = ("er", "or", "ist", "ant", "ent", "man", "woman", "person", "chief", "lead", "head", "boss")
_LINKED = 0.5  # share of the distinct values of a column that must be names or keys of the other table
_LONGEST = 80  # characters of a name
_SHOWN = 3


@dataclass
class WideTable:
    """A table as it was read.

    Attributes:
        name: of the file without its ending, of the sheet, or of the table.
        place: where it is, for messages.
        columns: (header, cells), all of the same length.
        units: by header, of the numbers of each row, where a spreadsheet says so.
        key: the column that a database declares as the key.
        references: the table whose key a column holds, as a database declares it.
        how: how it was read, such as "delimiter ';'".
        notes: what is not sure.
    """

    name: str
    place: str
    columns: list[tuple[str, list[Any]]]
    units: Mapping[str, list[str | None]] = field(default_factory=dict)
    key: str | None = None
    references: Mapping[str, str] = field(default_factory=dict)
    how: str = ""
    skipped: list[BadLine] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_wide(
    tables: Sequence[WideTable], options: TableOptions | None = None, progress: ProgressCallback = no_progress
) -> RawGraph:
    """One graph of several tables.

    Raises:
        UserError: a column or table that the options name does not exist, a key is empty, or there are no rows.
    """
    options = options or TableOptions()
    columns = () if any("=" not in one for one in options.split) else [own for one in tables for _, own in one.columns]
    cells = frozenset(cell for own in columns for cell in own if isinstance(cell, str))
    read = [_Table(table, options, cells) for table in tables]
    _check_names(read, options)
    for number, table in enumerate(read):
        progress(f"reading {table.name}", number, len(read))
        table.find_links(read, options)
    _name_rows(read)
    try:
        return _graph(read)
    except UnicodeEncodeError as error:
        raise UserError(f"{error.object!a} contains {HALF_A_CHARACTER}") from None


# --- one table -----------------------------------------------------------------------------------
class _Column:
    """A column of a table.

    Attributes:
        link: the table whose rows it names, and the rows by the text of a cell.
    """

    def __init__(self, name: str, read: Typed) -> None:
        self.name, self.typed = name, read
        self.plain = plain(name)
        self.link: tuple[_Table, Mapping[str, int]] | None = None

    @functools.cached_property
    def texts(self) -> list[str | None]:
        """The text of each row that has one value."""
        return [row[0].text if len(row) == 1 else None for row in self.typed.rows]

    @functools.cached_property
    def is_id(self) -> bool:
        """Whether its name says that it holds keys."""
        return _base(self.name) is not None

    @functools.cached_property
    def relation(self) -> str:
        """The relation: the header, of an edge without "id"."""
        return (_base(self.name) or self.name) if self.link is not None else self.name

    def is_short(self) -> bool:
        """Whether its texts may be names."""
        return all(len(value.text) <= _LONGEST for row in self.typed.rows for value in row)

    def is_key(self) -> bool:
        """Whether each row has one value that no other row has."""
        texts = self.texts
        return None not in texts and len(set(texts)) == len(texts)


class _Table:
    """A wide table whose columns were understood.

    Attributes:
        kind: the class of its rows.
        keys: the text of each row's key.
        labels: the name of each row, None for rows that have none but their key.
        coded: whether these names are codes, beside keys that are numbers.
        ids: the ids of the rows as entities.
    """

    def __init__(self, source: WideTable, options: TableOptions, cells: Collection[str]) -> None:
        self.source, self.name = source, source.name
        self.notes = [*source.notes]
        kind = _of_table(options.classes, source.name)
        self.kind = relation_label(source.name) if kind is None else kind
        self.key_given = _of_table(options.key, source.name, [name for name, _ in source.columns])
        columns = [(name, own) for name, own in source.columns if any(map(_is_given, own))]
        comma = any(uses_decimal_commas(own) for _, own in columns)
        self.columns = []
        for name, own in columns:
            whole = name == self.key_given or name == source.key
            found = typed(
                own,
                None if whole else self._separator(name, own, options, cells),
                day_first=options.day_first,
                decimal_comma=comma,
                units=source.units.get(name, ()),
            )
            self.columns.append(_Column(name, found))
            self.notes += [f"{source.place}: {name}: {note}" for note in found.notes]
            self.notes += self._of_units(name, found)
        self.rows = len(source.columns[0][1]) if source.columns else 0
        if not self.rows:
            raise UserError(f"{source.place}: a header without rows")
        *before, last = self.kind.split() or ["row"]
        self.one = " ".join([*before, _PEOPLE.get(last) or singular(last)])
        self._choose_key()
        self.ids: list[str] = []

    def _separator(self, name: str, own: Sequence[object], options: TableOptions, cells: Collection[str]) -> str | None:
        """The sign that separates the values in the cells of a column: the options give it, or the cells show it."""
        given = _of_column(options.split, self.name, name)
        given = given or next((one for one in options.split if "=" not in one), None)
        if given is not None:
            return None if given == "none" else given
        is_id = _base(name) is not None
        is_one = plain(name) in _NAMES or (is_id and not name.casefold().endswith("s"))
        found = None if is_one else separator(own, cells, of_keys=is_id)
        if found is not None:
            self.notes.append(
                f"{self.source.place}: {name}: cells are split at {found!r}; --split none keeps them whole"
            )
        return found

    def _of_units(self, name: str, found: Typed) -> list[str]:
        if found.kind != "number":
            return []
        texts = {value.text for row in found.rows for value in row if value.datatype == XSD + "string"}
        units = {size.kind: size.unit for text in texts if (size := quantity(Literal(text))) is not None}
        if len(units) < 2:
            return []
        return [f"{self.source.place}: {name} is in {', '.join(sorted(units.values()))}; nothing is converted"]

    def _choose_key(self) -> None:
        """Find the columns that hold the keys and the names of the rows."""
        given = self.key_given or self.source.key
        key = next((column for column in self.columns if column.name == given), None)
        if self.key_given and key is None:
            names = ", ".join(column.name for column in self.columns)
            raise UserError(f"{self.source.place}: no column {self.key_given!r} for --key (it has: {names})")
        named = self._named()
        if key is None:
            own = [c for c in self.columns if c.is_id and c.is_key()]
            mine = (plain(self.one), plain(self.kind), "")
            ids = [c for c in own if plain(_base(c.name) or "") in mine] or [c for c in own if c is self.columns[0]]
            unique = [c for c in self.columns if c.typed.kind in ("name", "text") and c.is_key() and c.is_short()]
            whole = [c for c in self.columns[:1] if c.typed.kind != "date" and c.is_key()]
            sure = [named] if named is not None and named.is_key() else []
            key = next(iter([*ids, *sure, *unique, *own, *whole]), None)
        self.key, self.named = key, named if named is not key else None
        if key is None:
            self.keys = [str(row + 1) for row in range(self.rows)]
            self.notes.append(
                f"{self.source.place}: no column has a value of its own in each row, so the rows are numbered; "
                "name the column that tells them apart: --key COLUMN"
            )
        else:
            self.keys = self._keys(key)
        code = self._code()
        self.coded, self.named = code is not None, self.named or code
        self.labels = self._labels()

    def _code(self) -> _Column | None:
        """The column with a code such as "KW-2024-001" for each row; None if rows have names, or keys with letters."""
        has_names = self.named is not None or any(c.plain in (*_FIRST_NAMES, *_LAST_NAMES) for c in self.columns)
        if has_names or not self.numbered:
            return None
        own = [c for c in self.columns if c is not self.key and c.typed.kind in ("name", "text") and c.is_id]
        own = [c for c in own if c.name not in self.source.references and c.is_key() and c.is_short()]
        return next((c for c in own if plain(_base(c.name) or "") in ("", plain(self.one), plain(self.kind))), None)

    def _named(self) -> _Column | None:
        """The column with the names of the rows."""
        first = [base for c in self.columns[:1] if c.is_key() and (base := _base(c.name))]  # "shelf" of "shelf_id"
        bases = [self.one, *first]
        wanted = (
            *_NAMES,
            *(plain(one + name) for one in bases for name in _NAMES),
            *map(plain, bases),
            plain(self.kind),
        )
        named = [c for c in self.columns if c.typed.kind in ("name", "text", "mixed")]
        return next((c for name in wanted for c in named if c.plain == name), None)

    def _keys(self, key: _Column) -> list[str]:
        texts = key.texts
        if None in texts:
            row = texts.index(None) + 1
            what = "no" if not key.typed.rows[row - 1] else "several values as"
            raise UserError(
                f"{self.source.place}: row {row} has {what} {key.name!r}, the key; name another: --key COLUMN"
            )
        repeated = sum(count - 1 for count in Counter(texts).values())
        if repeated:
            self.notes.append(
                f"{self.source.place}: {repeated:,} rows have the {key.name!r} of another row and are one thing"
            )
        return [str(text) for text in texts]

    def _labels(self) -> list[str | None]:
        if self.named is not None:
            return [row[0].text if row else None for row in self.named.typed.rows]
        first, last = (
            next((c for c in self.columns if c.plain in names), None) for names in (_FIRST_NAMES, _LAST_NAMES)
        )
        if first is not None and last is not None:
            both = zip(first.typed.rows, last.typed.rows, strict=True)
            return [" ".join(row[0].text for row in rows if row) or None for rows in both]
        return [None] * self.rows

    @functools.cached_property
    def numbered(self) -> bool:
        """Whether the keys are numbers that name nothing outside of the table."""
        return self.key is None or all(key.replace("-", "").isdecimal() for key in self.keys)

    def find_links(self, tables: Sequence[_Table], options: TableOptions) -> None:
        """Find the columns whose values are names or keys of rows."""
        for column in self.columns:
            if column in (self.key, self.named):
                continue
            wanted = _of_column(options.links, self.name, column.name)
            wanted = wanted or self.source.references.get(column.name)
            if wanted:
                table = next((table for table in tables if table.name == wanted), None)
                found = [] if table is None else [table]
                sure = True
            else:
                found, sure = self._hinted(column, tables), False
                if not found and column.typed.kind == "number" and not column.plain.endswith(_SURE_IDS):
                    continue
                found = found or list(tables)
            column.link = self._best(column, found, sure)

    def _hinted(self, column: _Column, tables: Sequence[_Table]) -> list[_Table]:
        """The tables whose name or key a header says."""
        base = plain(_base(column.name) or column.name)
        return [
            table
            for table in tables
            if base in (plain(table.kind), plain(table.one), plain(table.name))
            or (len(table.one) > 2 and base.endswith(plain(table.one)) and column.is_id)  # "ship_from_warehouse_id"
            or (table.key is not None and len(base) > 2 and column.plain == table.key.plain and table is not self)
        ]

    def _best(self, column: _Column, tables: Sequence[_Table], sure: bool) -> tuple[_Table, Mapping[str, int]] | None:
        """The table most of whose names or keys a column has, and its rows by these."""
        values = {value.text for row in column.typed.rows for value in row}
        if column.typed.kind in ("date", "boolean") or not values:
            return None
        shares = []
        for table in tables:
            for names in table.names:
                share = sum(value in names for value in values) / len(values)
                own = table is self and column.typed.kind != "number"
                if share >= _LINKED or (share and (sure or own)):
                    shares.append((share, table, names))
        best = max((share for share, _, _ in shares), default=0)
        top = [(table, names) for share, table, names in shares if share == best]
        several = column.typed.kind == "number" and len({id(table) for table, _ in top}) > 1
        things = [(table, names) for table, names in top if table.named is not None]
        is_only = len({id(table) for table, _ in things}) == 1  # the others are events, or join two tables
        if several and is_only and _is_role(column.name):
            table = things[0][0]
            self.notes.append(
                f"{self.source.place}: {column.name} is taken for keys of {table.name}, which alone has names; "
                f"--link {self.name}.{column.name}=TABLE says another"
            )
            return things[0]
        if several:
            others = ", ".join(dict.fromkeys(table.name for table, _ in top))
            self.notes.append(
                f"{self.source.place}: {column.name} may hold keys of {others} and is kept as numbers; "
                f"say which: --link {self.name}.{column.name}=TABLE"
            )
            return None
        return top[0] if top else None

    @functools.cached_property
    def names(self) -> list[Mapping[str, int]]:
        """Rows by key, and by name where only one has it."""
        keys = {key: row for row, key in reversed([*enumerate(self.keys)])}
        count = Counter(self.labels)
        labels = {name: row for row, name in enumerate(self.labels) if name is not None and count[name] == 1}
        return [keys, labels] if labels else [keys]

    def label(self, row: int) -> str:
        """The name of a row: its own, its key, or the class with its key."""
        return self.labels[row] or (f"{self.one} {self.keys[row]}" if self.numbered else self.keys[row])


def _base(name: str) -> str | None:
    """The name of a column without a final "id", "keys" and the like: "team_id" -> "team", "id" -> ""."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).replace("_", " ").replace("-", " ").split()
    last = words[-1].casefold().strip(".#") if words else ""
    several = len(words) > 1 and last.removesuffix("s") in _SURE_IDS
    return " ".join(words[:-1]) if last in _IDS or several else None


def _is_role(name: str) -> bool:
    """Whether the header of a key names a role, as its ending tells: "owner_id", "tutor_id"."""
    return (_base(name) or "").casefold().endswith(_ROLES)


def _is_given(cell: object) -> bool:
    return cell is not None and cell != "" and not (isinstance(cell, float) and cell != cell)


# --- options -------------------------------------------------------------------------------------
def _of_table(given: Sequence[str], table: str, known: Sequence[str] = ()) -> str | None:
    """The value of an option `VALUE` or `TABLE=VALUE` for a table; a value alone only if it is known, where any is."""
    named = [one.partition("=")[2] for one in given if one.partition("=")[0] == table and "=" in one]
    alone = [one for one in given if (one in known if known else "=" not in one)]
    return next(iter([*named, *alone]), None)


def _of_column(given: Sequence[str], table: str, column: str) -> str | None:
    """The value of an option `COLUMN=VALUE` or `TABLE.COLUMN=VALUE` for a column."""
    pairs = [one.partition("=") for one in given]
    return next((value for name, _, value in pairs if name in (column, f"{table}.{column}") and value), None)


def _check_names(tables: Sequence[_Table], options: TableOptions) -> None:
    """Refuse options that name what is not there."""
    names = {table.name for table in tables}
    known = ", ".join(sorted(names))
    columns = list(dict.fromkeys(name for table in tables for name, _ in table.source.columns))
    headers = {*columns, *(f"{table.name}.{name}" for table in tables for name, _ in table.source.columns)}
    for flag, given in (("--class", options.classes), ("--key", options.key)):
        for one in given:
            if "=" in one and one.partition("=")[0] not in names and one not in headers:
                raise UserError(f"{flag} {one!r}: no table {one.partition('=')[0]!r} (there are: {known})")
    for one in options.key:
        if "=" not in one and one not in headers:
            raise UserError(f"--key {one!r}: no table has such a column; there are: {', '.join(columns)}")
    for one in options.links:
        column, equals, table = one.partition("=")
        if not equals or column not in headers or table not in names:
            raise UserError(
                f"--link {one!r}: write COLUMN=TABLE, with a column of a table, and one of the tables {known}"
            )
    for one in options.split:
        if "=" in one and one.partition("=")[0] not in headers:
            raise UserError(f"--split {one!r}: no table has a column {one.partition('=')[0]!r}")
    if len(tables) > 1 and any("=" not in one for one in options.classes):
        raise UserError(f"--class NAME is for one table; write --class TABLE=NAME, with TABLE one of {known}")
    if len(names) < len(tables):
        twice = next(name for name, count in Counter(table.name for table in tables).items() if count > 1)
        raise UserError(f"two tables are called {twice!r}; rename a file or sheet")


# --- the graph -----------------------------------------------------------------------------------
def _name_rows(tables: Sequence[_Table]) -> None:
    """Give each row an id: its key, or the class and the key where something else is called the same."""
    uses: Counter[str] = Counter()
    for table in tables:
        uses.update({*table.keys})
    texts = {
        value.text
        for table in tables
        for column in table.columns
        if column.link is None and column not in (table.key, table.named)
        for row in column.typed.rows
        for value in row
        if value.datatype is None
    }
    for table in tables:
        table.ids = [
            f"{table.kind or table.one}/{key}" if table.numbered or uses[key] > 1 or key in texts else key
            for key in table.keys
        ]


def _graph(tables: Sequence[_Table]) -> RawGraph:
    edges: list[tuple[str, str, str, str | None]] = []
    described: list[dict[str, Any]] = []
    about: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    recognised = []
    names = {id: table.label(row) for table in tables for row, id in enumerate(table.ids)}
    for table in tables:
        first = len(edges)
        for column in table.columns:
            if column is table.named or (column is table.key and not _key_is_told(table)):
                continue
            domain, span = about[column.relation]
            domain.add(table.kind)
            span.add("" if column.link is None else column.link[0].kind)
        for row, id in enumerate(table.ids):
            described.append(_description(table, row))
            for relation, value in _values(table, row):
                edges.append((id, relation, value.text, value.datatype))
        some = [(names.get(h, h), r, names.get(t, t)) for h, r, t, _ in edges[first : first + _SHOWN]]
        recognised.append(_sentence(table, some))
    rows = [{"id": name, "domain": _only(domain), "range": _only(span)} for name, (domain, span) in about.items()]
    columns = StringColumns(4)
    columns.add(edges)
    return replace(
        RawGraph(*columns.arrays()),
        entities=pa.Table.from_pylist(described, ENTITY_SCHEMA),
        relation_rows=pa.Table.from_pylist(rows, RELATION_SCHEMA),
        type_labels={table.kind: table.kind for table in tables if table.kind},
        skipped=[line for table in tables for line in table.source.skipped],
        read=len(edges) + len(described),
        described=len(described),
        notes=[note for table in tables for note in table.notes],
        recognised=recognised,
    )


def _only(names: set[str]) -> str | None:
    return next(iter(names)) or None if len(names) == 1 else None


def _key_is_told(table: _Table) -> bool:
    """Whether the key says more than the name of the row."""
    return table.key is not None and (table.key.is_id or table.named is not None or table.numbered)


def _description(table: _Table, row: int) -> dict[str, Any]:
    text = next((c.typed.rows[row] for c in table.columns if c.plain in _DESCRIPTIONS), [])
    label = table.label(row)
    aliases = [] if table.numbered or table.keys[row] in (table.ids[row], label) else [table.keys[row]]
    if table.numbered and table.key is not None and (table.coded or table.labels[row] is None):
        aliases += [table.keys[row], *([f"{table.one} {table.keys[row]}"] if table.coded else [])]
    return {
        "id": table.ids[row],
        "label": label,
        "description": text[0].text if text else None,
        "aliases": aliases,
        "types": [table.kind] if table.kind else [],
    }


def _values(table: _Table, row: int) -> Iterable[tuple[str, Value]]:
    """The relations of a row and their values."""
    for column in table.columns:
        if column is table.named:
            continue
        if column is table.key:
            if _key_is_told(table):
                yield column.name, Value(table.keys[row], XSD + "string")
            continue
        for value in column.typed.rows[row]:
            if column.link is None:
                yield column.relation, value
                continue
            other, rows = column.link
            at = rows.get(value.text)
            yield column.relation, Value(value.text) if at is None else Value(other.ids[at])


def _sentence(table: _Table, first: Sequence[tuple[str, str, str]]) -> str:
    """What a table is, and its first triples."""
    source = table.source
    key = "no key" if table.key is None else f"key {table.key.name}"
    edges = [f"{column.name} → {column.link[0].name}" for column in table.columns if column.link is not None]
    how = ", ".join([f"{table.rows:,} rows", key, *([source.how] if source.how else []), *edges])
    return (
        f"{source.place}: a wide table{f' of {table.kind}' * bool(table.kind)} ({how}); first triples: {shown(first)}"
    )


def shown(triples: Iterable[tuple[str, str, str]]) -> str:
    """Triples in one line."""
    return "; ".join(f"{head} —{relation}→ {tail}" for head, relation, tail in triples) or "none"
