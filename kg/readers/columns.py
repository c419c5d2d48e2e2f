"""Which columns of a table are head, relation and tail, by the names that such columns usually have."""

from __future__ import annotations

import contextlib
import csv
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from triplecheck.kg.errors import ReadError
from triplecheck.kg.readers.raw import open_packed

TRIPLE_COLUMNS = ("head", "relation", "tail")
DAMAGED = (OSError, EOFError, zlib.error, lzma.LZMAError, csv.Error, UnicodeDecodeError)

# The usual names, in lower case without separators. A head and a tail of one pair belong together.
_ENDS = tuple(
    tuple(pair.split(":"))
    for pair in "head:tail subject:object subj:obj s:o h:t source:target src:dst src:dest src:tgt from:to start:end "
    "startid:endid node1:node2 entity1:entity2 e1:e2 arg1:arg2 headid:tailid subjectid:objectid sourceid:targetid "
    "fromid:toid headentity:tailentity startnode:endnode sourcenode:targetnode fromnode:tonode "
    "source:destination origin:destination".split()
)
# Pairs that may be data: names of columns only together with a relation of one of the surest names.
_UNSURE_ENDS = tuple(
    tuple(pair.split(":"))
    for pair in "subject:value item:value entity:value parent:child x:y u:v x1:x2 n1:n2 lhs:rhs left:right arg0:arg1 "
    "ent1:ent2 concept1:concept2 term1:term2 word1:word2 subjectentity:objectentity sourceentity:targetentity "
    "nodefrom:nodeto agent:patient".split()
)
_RELATIONS = (
    "relation predicate pred relationship rel r p edge property relationtype relationshiptype reltype edgetype "
    "edgelabel relationid predicateid label type link linktype interaction"
).split()
_SURE_RELATIONS = (
    "relation predicate pred relationship rel property prop attribute relationtype relationshiptype reltype edgetype"
).split()
_PARTS = ("id", "label", "name", "iri", "uri")  # of a node or relation, at the end of the name of a column
_ROWS_COMPARED = 20_000
_BYTES_COMPARED, _LINES_COMPARED = 1 << 16, 50
_AGREE = 0.8  # share of the lines; others may be malformed
DELIMITERS = (",", ";", "\t", "|")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Errors of a damaged file as a `ReadError`."""
    try:
        yield
    except DAMAGED as error:
        raise ReadError(path, None, f"cannot be read to the end: {error}") from error


def plain(name: str) -> str:
    """The name of a column without case and separators: ":START_ID" -> "startid"."""
    return "".join(c for c in name.casefold() if c.isalnum())


def usual_columns(header: Sequence[str]) -> dict[str, int]:
    """Places of those of head, relation and tail that have a usual name; head and tail both or neither.

    `subject_id`, `predicate_label` and the like are found where all three have such names.
    """
    names = [plain(name) for name in header]
    for known in (names, [_without_part(name) for name in names]):
        for pairs, words in ((_ENDS, _RELATIONS), (_UNSURE_ENDS, _SURE_RELATIONS)):
            pair = next((pair for pair in pairs if {*pair} <= {*known}), None)
            word = next((word for word in words if word in known), None)
            if pair is not None and word is not None:
                return {"head": known.index(pair[0]), "tail": known.index(pair[1]), "relation": known.index(word)}
    ends = next(((head, tail) for head, tail in _ENDS if head in names and tail in names), None)
    relation = next((name for name in _RELATIONS if name in names), None)
    found = {} if ends is None else {"head": names.index(ends[0]), "tail": names.index(ends[1])}
    if relation is None and found and (found["head"], found["tail"], len(names)) == (0, 2, 3):
        found["relation"] = 1  # whatever its name
    return found | ({} if relation is None else {"relation": names.index(relation)})


def _without_part(name: str) -> str:
    """The plain name of a column without "id", "label" and the like at its end, if something is left."""
    return next((name.removesuffix(part) for part in _PARTS if name.endswith(part) and name != part), name)


def names_a_relation(fields: Sequence[str]) -> bool:
    """Whether the second of three fields is a word for relations, so that a first line which is odd is a header."""
    return len(fields) >= len(TRIPLE_COLUMNS) and plain(fields[1]) in _SURE_RELATIONS


def dialect(path: Path) -> tuple[str, bool]:
    """The delimiter of a table, and whether its fields may be quoted.

    It is the one that the extension says, unless the first lines have one field each by it, or other numbers of fields,
    and another delimiter gives nearly all of them the same number.
    """
    usual = usual_dialect(path)
    lines = _first_lines(path)
    if len(lines) < 2 or _agree(lines, *usual) > 1:
        return usual
    others = [(sign, sign != "\t" or usual[1]) for sign in DELIMITERS if sign != usual[0]]
    best = max(others, key=lambda one: _agree(lines, *one))
    return best if _agree(lines, *best) > 1 else usual


def usual_dialect(path: Path) -> tuple[str, bool]:
    """The delimiter by the extension, and whether fields may be quoted."""
    return (",", True) if Path(path.name.lower().removesuffix(".gz")).suffix == ".csv" else ("\t", False)


def delimiter_hint(path: Path, fields: int) -> str:
    """The beginning of a message: the number of fields of the first line, and another delimiter that it may have."""
    line = next(iter(_first_lines(path)), "")
    other = max(DELIMITERS, key=lambda sign: len(fields_of(line, sign, True)))
    many = len(fields_of(line, other, True))
    return f"{fields} field{'s' * (fields != 1)}; " + (f"is {other!r} the delimiter? " if many > fields else "")


def _agree(lines: Sequence[str], delimiter: str, quoted: bool) -> int:
    """The number of fields of the first of some lines, 0 if others have other numbers."""
    try:
        rows = csv.reader(lines, delimiter=delimiter) if quoted else (line.split(delimiter) for line in lines)
        counts = [len(fields) for fields in rows if fields]
    except csv.Error:
        return 0
    return counts[0] if counts.count(counts[0]) >= _AGREE * len(counts) else 0


def _first_lines(path: Path) -> list[str]:
    """Some lines at the beginning of a file that are not empty."""
    try:
        with open_packed(path) as source:
            block = source.read(_BYTES_COMPARED)
    except DAMAGED:
        return []
    lines = block.decode("utf-8-sig", "replace").splitlines()
    lines = lines[:-1] if len(block) == _BYTES_COMPARED and len(lines) > 1 else lines
    return [line for line in lines if line.strip()][:_LINES_COMPARED]


def fields_of(line: str, delimiter: str, quoted: bool) -> list[str]:
    """The fields of one line."""
    return next(csv.reader([line], delimiter=delimiter), []) if quoted else line.split(delimiter)


def first_fields(path: Path) -> list[str]:
    """Fields of the first line, [] for an empty file."""
    try:
        with open_packed(path) as source:
            line = source.readline().decode("utf-8-sig").rstrip("\r\n")
        return fields_of(line, *dialect(path)) if line else []
    except DAMAGED as error:
        raise ReadError(path, 1, f"not readable as text: {error}") from error


def odd_first_line(path: Path) -> list[str] | None:
    """The first line of a table without a known header, if it may be one: its cells occur in no other line.

    That says nothing where most lines have a relation of their own. The first 20,000 lines are compared.

    Raises:
        ReadError: the file is missing or no text.
    """
    if not path.is_file() or len(usual_columns(first := first_fields(path))) == 3 or len(first) < 3:
        return None
    delimiter, quoted = dialect(path)
    cells, relations = Counter[str](), Counter[str]()
    with reading(path), open_packed(path) as source:
        source.readline()
        for line, _ in zip(source, range(_ROWS_COMPARED), strict=False):
            fields = fields_of(line.decode("utf-8", "replace").rstrip("\r\n"), delimiter, quoted)
            cells.update(fields[:3])
            relations.update(fields[1:2])
    repeated = sum(count for count in relations.values() if count > 1)
    return first if 2 * repeated > relations.total() and not any(cells[cell] for cell in first[:3]) else None
