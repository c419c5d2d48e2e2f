"""Which columns of a table are head, relation and tail, by the names that such columns usually have."""

from __future__ import annotations

import csv
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from triplecheck.kg.errors import ReadError
from triplecheck.kg.readers.raw import open_packed

TRIPLE_COLUMNS = ("head", "relation", "tail")
DAMAGED = (OSError, EOFError, zlib.error)

# The usual names, in lower case without separators. A head and a tail of one pair belong together.
_ENDS = tuple(
    tuple(pair.split(":"))
    for pair in "head:tail subject:object subj:obj s:o h:t source:target src:dst src:dest src:tgt from:to start:end "
    "startid:endid node1:node2 entity1:entity2 e1:e2 arg1:arg2 headid:tailid subjectid:objectid sourceid:targetid "
    "fromid:toid headentity:tailentity startnode:endnode sourcenode:targetnode fromnode:tonode "
    "source:destination origin:destination".split()
)
_RELATIONS = (
    "relation predicate pred relationship rel r p edge property relationtype relationshiptype edgetype edgelabel "
    "relationid predicateid label type link linktype"
).split()
_ROWS_COMPARED = 20_000


def plain(name: str) -> str:
    """The name of a column without case and separators: ":START_ID" -> "startid"."""
    return "".join(c for c in name.casefold() if c.isalnum())


def usual_columns(header: Sequence[str]) -> dict[str, int]:
    """Places of those of head, relation and tail that have a usual name; head and tail both or neither."""
    names = [plain(name) for name in header]
    ends = next(((head, tail) for head, tail in _ENDS if head in names and tail in names), None)
    relation = next((name for name in _RELATIONS if name in names), None)
    found = {} if ends is None else {"head": names.index(ends[0]), "tail": names.index(ends[1])}
    if relation is None and found and (found["head"], found["tail"], len(names)) == (0, 2, 3):
        found["relation"] = 1  # whatever its name
    return found | ({} if relation is None else {"relation": names.index(relation)})


def is_header(fields: Sequence[str]) -> bool:
    """Whether a first line names all of head, relation and tail."""
    return len(usual_columns(fields)) == len(TRIPLE_COLUMNS)


def dialect(path: Path) -> tuple[str, bool]:
    """The delimiter of a table by its extension, and whether its fields may be quoted."""
    return (",", True) if Path(path.name.lower().removesuffix(".gz")).suffix == ".csv" else ("\t", False)


def fields_of(line: str, delimiter: str, quoted: bool) -> list[str]:
    """The fields of one line."""
    return next(csv.reader([line]), []) if quoted else line.split(delimiter)


def first_fields(path: Path) -> list[str]:
    """Fields of the first line, [] for an empty file."""
    try:
        with open_packed(path) as source:
            line = source.readline().decode("utf-8-sig").rstrip("\r\n")
    except (UnicodeDecodeError, *DAMAGED) as error:
        raise ReadError(path, 1, f"not readable as text: {error}") from error
    try:
        return fields_of(line, *dialect(path)) if line else []
    except csv.Error as error:
        raise ReadError(path, 1, f"not readable as CSV: {error}") from error


def odd_first_line(path: Path) -> list[str] | None:
    """The first line of a table without a known header, if it may be one: its cells occur in no other line.

    That says nothing where most lines have a relation of their own. The first 20,000 lines are compared.

    Raises:
        ReadError: the file is missing or no text.
    """
    if not path.is_file() or is_header(first := first_fields(path)) or len(first) < len(TRIPLE_COLUMNS):
        return None
    delimiter, quoted = dialect(path)
    cells, relations = Counter[str](), Counter[str]()
    try:
        with open_packed(path) as source:
            source.readline()
            for line, _ in zip(source, range(_ROWS_COMPARED), strict=False):
                fields = fields_of(line.decode("utf-8", "replace").rstrip("\r\n"), delimiter, quoted)
                cells.update(fields[:3])
                relations.update(fields[1:2])
    except (csv.Error, *DAMAGED) as error:
        raise ReadError(path, None, f"cannot be read to the end: {error}") from error
    repeated = sum(count for count in relations.values() if count > 1)
    return first if 2 * repeated > relations.total() and not any(cells[cell] for cell in first[:3]) else None
