"""Reads RDF: N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD, plain or gzipped.

pyoxigraph parses all formats except JSON-LD, which rdflib parses. Statements go into dictionary-encoded Arrow
columns batch by batch, so memory holds each distinct string once and one integer per use.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import quote, unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.inference import inverses_of, with_inferred
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.readers._rdf_describe import Descriptions, describe
from triplecheck.kg.readers._rdf_lenient import Leniency, is_lenient, leniently, parsed
from triplecheck.kg.readers._rdf_schema import (
    NOT_ASSERTED,
    STRUCTURE,
    Statement,
    axiom_edges,
    is_schema,
    resolve,
    stated_properties,
    superclasses_of,
)
from triplecheck.kg.readers._rdf_xml import check_prolog, error_line
from triplecheck.kg.readers._turtle_statements import UnsafeError
from triplecheck.kg.readers._turtle_statements import read as read_past_errors
from triplecheck.kg.readers.raw import (
    EDGE_PROPERTY_SCHEMA,
    BadLine,
    RawGraph,
    StringColumns,
    open_packed,
    without_triples,
)
from triplecheck.kg.types import XSD
from triplecheck.kg.values import parse_json
from triplecheck.kg.vocabulary import ENGLISH, RDF, Vocabulary, missing_language


def read_rdf(
    paths: Path | str | Iterable[Path | str],
    *,
    skip_bad: bool = False,
    fetch_contexts: bool = False,
    axioms: bool | None = None,
    language: str = "en",
    strict: bool = False,
    progress: ProgressCallback = no_progress,
    vocabulary: Vocabulary | None = None,
    first_blank: int = 0,
    store: TripleStore | None = None,
) -> RawGraph:
    """Read one or several RDF files as one graph.

    Predicates of the vocabulary (labels, aliases, descriptions, types, domains, ranges) describe their subject and are
    not edges. Descriptions of a relation (used as a predicate, or typed as a property) go to `relation_rows`, labels of
    a class (object of a type statement, or typed as a class) to `type_labels`; relations and classes are entities only
    if they have edges.

    Where most subjects are classes and relations (an ontology, a vocabulary), the graph is about them: each is an
    entity, axioms (subClassOf, subPropertyOf, inverseOf, domain, range), types and restrictions of superclasses are
    edges. In every file, entities have the superclasses of their types as types, and edges of symmetric and of inverse
    relations hold the other way round, too (`kg.inference`).

    A statement about a statement (RDF 1.2, RDF-star, reification, annotated OWL axioms) is a property of its edge.
    Blank nodes become entities `_:b0`, `_:b1` ... in order of appearance. A literal keeps its
    lexical form and datatype; language tags are dropped. In JSON-LD, rdflib converts numbers and
    booleans to their canonical form.

    Args:
        paths: files; the extension determines the format (.nt .nq .ttl .trig .rdf .owl .xml .jsonld, and .gz after it).
        skip_bad: skip malformed lines of N-Triples and N-Quads, and malformed statements of Turtle, and list them in
            `skipped`; other formats cannot be read past an error.
        fetch_contexts: read the contexts that a JSON-LD file refers to, from the network or from local files. Without
            it such a file is refused, because its author would choose what is read.
        axioms: whether axioms are edges. None: if most subjects are classes and relations. False: nor do types have
            superclasses and relations inverses.
        language: preferred language of labels and descriptions, such as `de`.
        strict: refuse IRIs and language tags that RDF does not allow and other parsers read; else they are counted.
        progress: called after each batch with the number of statements.
        vocabulary: predicates that describe; default: RDFS, SKOS, schema.org, FOAF.
        first_blank: number of the first blank node, so that none has the id of another graph's.
        store: receives the edges as they are read; the returned graph has none. Memory holds the descriptions.

    Raises:
        ReadError: a file is missing, malformed (with the line), or has an unknown extension.
        UserError: there are statements about statements, and they would have to be joined with stored edges.
    """
    files = [Path(paths)] if isinstance(paths, Path | str) else [Path(p) for p in paths]
    words = vocabulary or Vocabulary(language=language)
    edges = StringColumns(4) if store is None else _StoredEdges(store)
    literals = StringColumns(4)
    blanks: dict[tuple[int, str], str] = {}
    skipped: list[BadLine] = []
    schema: list[Statement] = []
    structure: list[Statement] = []
    leniency = Leniency(strict)
    done = 0
    for number, path in enumerate(files):

        def blank(label: str, number: int = number) -> str:
            return blanks.setdefault((number, label), f"_:b{first_blank + len(blanks)}")

        bad = skipped if skip_bad else None
        for batch in statements(path, blank, bad, fetch_contexts=fetch_contexts, leniency=leniency):
            batch, special = _separated(batch, STRUCTURE)
            structure += special
            _encode(batch, words, edges, literals, schema)
            done += len(batch) + len(special)
            progress(f"reading {path.name}", done, None)
    raw = _finished(words, edges, literals, schema, structure, axioms)
    raw.skipped, raw.read = skipped, done
    raw.notes += leniency.note()
    return raw if store is None else without_triples(raw)


def _languages_there(words: Vocabulary, described: Descriptions) -> list[str]:
    """A note that no text has the language that was asked for, and which there are."""
    tags = sorted({tag for tag in described.languages.dictionary.to_pylist() if tag})
    if words.language == ENGLISH or not tags or any(map(words.has_language, tags)):
        return []
    return [missing_language(words.language, tags)]


_NOT_INFERRED = (
    "{} relations are symmetric or have an inverse; edges that follow from that are inferred in memory alone: leave "
    "out --memory to have them"
)


class TripleStore(Protocol):
    """Holds triples outside of memory."""

    def add(self, part: RawGraph) -> None:
        """Add the triples and descriptions of a part."""

    def drop(self, heads: set[str]) -> None:
        """Remove the triples with these heads."""

    def ends(self, ids: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The distinct heads and the distinct entity tails that are among some ids; further heads, up to twice as many
        as ids, that are no blank nodes."""


class _StoredEdges(StringColumns):
    """Edges that are passed on to a store."""

    def __init__(self, store: TripleStore) -> None:
        super().__init__(4)
        self.store = store
        self._relations: dict[str, None] = {}

    def add(self, rows: Sequence[tuple[str | None, ...]]) -> None:
        columns = StringColumns(4)
        columns.add(rows)
        heads, relations, tails, datatypes = columns.arrays()
        relations = _with_plain_names(relations)
        self._relations |= dict.fromkeys(relations.dictionary.to_pylist())
        self.store.add(RawGraph(heads, relations, tails, datatypes, read=0))

    def arrays(self, about: pa.Array | None = None) -> list[pa.DictionaryArray]:
        """Relations, and the ends of edges that are about the ids; of equal length only by filling up with nulls."""
        heads, tails = self.store.ends(about)
        columns = [heads, pa.array(self._relations, pa.string()), tails]
        longest = max(map(len, columns))
        filled = [pa.concat_arrays([column, pa.nulls(longest - len(column), pa.string())]) for column in columns]
        return [column.dictionary_encode() for column in (*filled, pa.nulls(longest, pa.string()))]


def _separated(batch: list[Statement], predicates: frozenset[str]) -> tuple[list[Statement], list[Statement]]:
    """A batch without the statements of some predicates, and those."""
    special = [s for s in batch if s[1] in predicates]
    return ([s for s in batch if s[1] not in predicates], special) if special else (batch, special)


def _finished(
    words: Vocabulary,
    edges: StringColumns,
    literals: StringColumns,
    schema: list[Statement],
    structure: list[Statement],
    axioms: bool | None,
) -> RawGraph:
    given = axioms
    described = Descriptions(*literals.arrays())
    of_schema = {s[0] for s in schema}
    if axioms is None:
        heads = edges.arrays(described.subjects.dictionary)[0].dictionary if of_schema else None
        axioms = heads is not None and is_schema(described.subjects.dictionary, heads, of_schema)
    left_out = Counter({"links to pages (isDefinedBy)": literals.counted(words.ignored)})
    resolved = resolve(structure, schema)
    left_out.update(resolved.left_out)
    described_only = literals.counted(words.described)
    as_edges = {*words.axioms, *words.domains, *words.ranges}
    if axioms:
        types = axiom_edges(literals.rows(1, words.types), words)
        described_only -= len(types)
        edges.add([*axiom_edges((s for s in schema if s[1] in as_edges), words), *types, *resolved.restrictions])
    else:
        left_out["axioms of the schema (--axioms makes them edges)"] = sum(s[1] in as_edges for s in schema)
    edges.add(resolved.edges)
    heads, relations, tails, datatypes = edges.arrays(described.subjects.dictionary)
    relations = _with_plain_names(relations)
    properties = EDGE_PROPERTY_SCHEMA.empty_table()
    if isinstance(edges, _StoredEdges):
        if resolved.stated:
            raise UserError("statements about statements are read in memory: leave out --memory")
        edges.store.drop(resolved.hidden)
    elif resolved.stated:
        about = edges.rows(0, resolved.stated.keys())
        properties, repeated = stated_properties(resolved, about, (heads, relations, tails))
        if repeated:
            rows = pa.array(np.concatenate([np.arange(len(heads)), repeated]), pa.int64())
            heads, relations, tails, datatypes = (c.take(rows) for c in (heads, relations, tails, datatypes))
        left_out.update({name: n for name, n in resolved.left_out.items() if name == NOT_ASSERTED})
    if resolved.hidden and not isinstance(edges, _StoredEdges):
        kept = pc.invert(pc.is_in(heads, value_set=pa.array(sorted(resolved.hidden), pa.string())))
        place = np.cumsum(kept.to_numpy(zero_copy_only=False)) - 1
        properties = properties.set_column(0, "edge", pa.array(place[properties["edge"].to_numpy()], pa.int64()))
        heads, relations, tails, datatypes = (c.filter(kept) for c in (heads, relations, tails, datatypes))
    found = describe(described, heads, relations, tails, datatypes, words, with_schema=axioms)
    entities = found.entities
    if resolved.hidden:
        entities = entities.filter(~pc.field("id").isin(sorted(resolved.hidden)))
    # That each café serves some drink does not say that each drink is served at some café.
    of_classes = {relation for _, relation, *_ in resolved.restrictions} if axioms else set()
    inverses = {} if given is False else inverses_of(schema, but=of_classes)
    reading = {"axioms": axioms or given, "language": words.language} | ({"inverses": inverses} if inverses else {})
    raw = RawGraph(
        heads=heads,
        relations=relations,
        tails=tails,
        datatypes=datatypes,
        entities=entities,
        relation_rows=found.relation_rows,
        edge_properties=properties,
        type_labels=found.type_labels,
        superclasses={} if given is False else superclasses_of(schema, words.axioms[0]),
        described=described_only,
        left_out={reason: n for reason, n in left_out.items() if n},
        notes=_languages_there(words, described),
        reading=reading,
    )
    if inverses and isinstance(edges, _StoredEdges):
        raw.notes.append(_NOT_INFERRED.format(len(inverses)))
        return raw
    return with_inferred(raw, inverses)


def _with_plain_names(relations: pa.DictionaryArray) -> pa.DictionaryArray:
    names = pa.array([_plain(name) for name in relations.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(relations.indices, names)


def _encode(
    batch: list[Statement], words: Vocabulary, edges: StringColumns, literals: StringColumns, schema: list[Statement]
) -> None:
    not_edges = frozenset(words.not_edges)
    edges.add([s[:4] for s in batch if s[1] not in not_edges])
    described = [s for s in batch if s[1] in not_edges]
    literals.add([_description(s) for s in described])
    of_schema = frozenset((*words.axioms, *words.domains, *words.ranges))
    members = frozenset((*words.classes, *words.properties))
    schema += [s for s in described if s[1] in of_schema or (s[1] in words.types and s[2] in members)]


def _description(statement: Statement) -> tuple[str | None, ...]:
    """(subject, predicate, object, language); the language is null if the object is an entity."""
    subject, predicate, target, datatype, language = statement
    return subject, predicate, target, None if datatype is None else language or ""


# --- parsing -------------------------------------------------------------------------------------
FORMATS: dict[str, ox.RdfFormat | None] = {
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".ttl": ox.RdfFormat.TURTLE,
    ".trig": ox.RdfFormat.TRIG,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".owl": ox.RdfFormat.RDF_XML,
    ".xml": ox.RdfFormat.RDF_XML,
    ".jsonld": None,  # by rdflib
}
PLAIN_ID = "urn:triplecheck:"
"""How the IRI of an id begins that is no IRI; the percent-encoded id follows."""
_LINE_FORMATS = (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS)
_BLOCK_BYTES = 8 << 20
_BATCH = 100_000
_PLACE = re.compile(r"^Parser error (?:at|between) [^:]*: ")
_BAD_INPUT = (EOFError, OSError, zlib.error)

Blank = Callable[[str], str]
"""From the parser's label of a blank node to its id in the graph."""


def statements(
    path: Path,
    blank: Blank,
    skipped: list[BadLine] | None,
    *,
    fetch_contexts: bool = False,
    leniency: Leniency | None = None,
) -> Iterator[list[Statement]]:
    """Batches of about 100,000 statements of a file, without names of graphs.

    Args:
        path: the file, plain or gzipped; its extension determines the format.
        blank: returns the id of a blank node.
        skipped: receives the malformed lines of N-Triples and N-Quads and statements of Turtle; None: they are errors.
        leniency: whether what RDF does not allow is read; None: it is.

    Raises:
        ReadError: unreadable file, unknown extension, malformed content.
    """
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    suffix = suffixes[-1] if suffixes else ""
    if suffix not in FORMATS:
        raise ReadError(path, None, f"unknown RDF extension {suffix!r}; known: {', '.join(FORMATS)} (.gz)")
    form, leniency = FORMATS[suffix], leniency or Leniency()
    try:
        with _open(path) as file:
            if form is None:
                yield from _json_ld(path, file, blank, fetch_contexts)
            elif form in _LINE_FORMATS:
                yield from _lines(path, file, form, blank, skipped, leniency)
            else:
                yield from _document(path, file, form, blank, skipped, leniency)
    except _BAD_INPUT as error:
        raise ReadError(path, None, f"cannot be read: {error}") from error


def _open(path: Path) -> IO[bytes]:
    file: Any = open_packed(path)
    if file.peek(3).startswith(codecs.BOM_UTF8):
        file.read(3)
    return file  # type: ignore[no-any-return]


def _base(path: Path) -> str:
    """Base of relative IRIs: the name of the file, without its folder."""
    return f"file:///{quote(path.name.split('.')[0])}"


def _lines(
    path: Path,
    file: IO[bytes],
    form: ox.RdfFormat,
    blank: Blank,
    skipped: list[BadLine] | None,
    leniency: Leniency,
) -> Iterator[list[Statement]]:
    """Parse block by block; a block with an error is parsed line by line, so that only bad lines are lost."""
    before = 0
    while lines := file.readlines(_BLOCK_BYTES):
        try:
            batch = _convert(ox.parse(b"".join(lines), form), blank)
            yield _with_plain_ids(batch) if any(PLAIN_ID.encode() in line for line in lines) else batch
        except (SyntaxError, _QuotedTripleError):
            good: list[Statement] = []
            for number, line in enumerate(lines, before + 1):
                try:
                    good += _convert(parsed(line, form, leniency), blank)
                except (SyntaxError, _QuotedTripleError) as error:
                    if skipped is None:
                        raise ReadError(path, number, _reason(error)) from error
                    skipped.append(BadLine(str(path), number, _reason(error)))
            yield good
        before += len(lines)


def _with_plain_ids(batch: list[Statement]) -> list[Statement]:
    """Statements whose IRIs of `PLAIN_ID` are the ids that they were made of; predicates follow in `_finished`."""
    return [
        (_plain(subject), predicate, _plain(target) if datatype is None else target, datatype and _plain(datatype), tag)
        for subject, predicate, target, datatype, tag in batch
    ]


def _plain(id: str) -> str:
    return unquote(id.removeprefix(PLAIN_ID)) if id.startswith(PLAIN_ID) else id


def _document(
    path: Path,
    file: IO[bytes],
    form: ox.RdfFormat,
    blank: Blank,
    skipped: list[BadLine] | None,
    leniency: Leniency,
) -> Iterator[list[Statement]]:
    if skipped is not None and form is ox.RdfFormat.TURTLE and not _is_well_formed(path):
        yield from _past_errors(path, file, blank, skipped, leniency)
        return
    skip_bad = skipped is not None
    parser = ox.parse(file, form, base_iri=_base(path))
    done, ids = 0, list[str]()

    def noted(label: str) -> str:
        ids.append(blank(label))
        return ids[-1]

    if form is ox.RdfFormat.RDF_XML:
        with _open(path) as prolog:
            check_prolog(path, prolog)
    way_out = f"; {form.name} cannot be read past an error; correct it or convert the file to N-Triples"
    try:
        while quads := list(islice(parser, _BATCH)):
            yield _convert(quads, noted)
            done += len(quads)
    except SyntaxError as error:
        with _open(path) as again:
            whole_file = None if leniency.strict else leniently(again, form, _base(path))
        if whole_file is not None:
            quads = whole_file
            leniency.statements += sum(map(is_lenient, quads))
            # The parser names blank nodes anew: those of the statements that were passed on keep their ids.
            known = dict(zip(dict.fromkeys(_labels_of(quads[:done])), dict.fromkeys(ids), strict=False))
            for at in range(done, len(quads), _BATCH):
                yield _convert(quads[at : at + _BATCH], lambda label: known.get(label) or blank(label))
            return
        line = error.lineno
        if line is None and form is ox.RdfFormat.RDF_XML:
            with _open(path) as whole:
                line = error_line(whole)
        raise ReadError(path, line, _reason(error) + (way_out if skip_bad else "")) from error
    except _QuotedTripleError as error:
        raise ReadError(path, None, _reason(error) + (way_out if skip_bad else "")) from error


def _is_well_formed(path: Path) -> bool:
    with _open(path) as file:
        try:
            return all(True for _ in ox.parse(file, ox.RdfFormat.TURTLE, base_iri=_base(path)))
        except SyntaxError:
            return False


def _past_errors(
    path: Path, file: IO[bytes], blank: Blank, skipped: list[BadLine], leniency: Leniency
) -> Iterator[list[Statement]]:
    """The well-formed statements of a Turtle document; the others are noted with their lines."""

    def skip(line: int, error: SyntaxError) -> None:
        skipped.append(BadLine(str(path), line, _reason(error)))

    try:
        for quads in read_past_errors(file.read().decode(), _base(path), leniency, skip):
            yield _convert(quads, blank)
    except UnsafeError as error:
        raise ReadError(path, error.line, f"{error}; what follows cannot be read past it; correct it") from error
    except (UnicodeDecodeError, _QuotedTripleError) as error:
        raise ReadError(path, None, _reason(error)) from error


def _labels_of(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """The labels of blank nodes, in the order in which `_convert` meets them."""
    found: list[str] = []

    def note(label: str) -> str:
        found.append(label)
        return label

    _convert(quads, note)
    return iter(found)


class _QuotedTripleError(Exception):
    """A statement about a statement."""


def _convert(quads: Iterable[ox.Quad], blank: Blank) -> list[Statement]:
    named, literal, string = ox.NamedNode, ox.Literal, XSD + "string"
    found: list[Statement] = []
    for quad in quads:
        subject, target = quad.subject, quad.object
        if isinstance(subject, ox.Triple):
            head = blank(str(subject))
            found += _reified(head, subject, blank)
        else:
            head = subject.value if isinstance(subject, named) else blank(subject.value)
        if isinstance(target, ox.Triple):
            if quad.predicate.value != RDF + "reifies":
                raise _QuotedTripleError("a quoted triple as an object is not supported")
            found += _reified(head, target, blank)
        elif isinstance(target, literal):
            language = target.language
            datatype = target.datatype.value if language is None else string
            found.append((head, quad.predicate.value, target.value, datatype, language))
        else:
            tail = target.value if isinstance(target, named) else blank(target.value)
            found.append((head, quad.predicate.value, tail, None, None))
    return found


def _reified(statement: str, triple: Any, blank: Blank) -> list[Statement]:
    parts = zip(("subject", "predicate", "object"), (triple.subject, triple.predicate, triple.object), strict=True)
    return [
        (
            statement,
            RDF + name,
            blank(term.value) if isinstance(term, ox.BlankNode) else term.value,
            term.datatype.value if isinstance(term, ox.Literal) else None,
            None,
        )
        for name, term in parts
    ]


def _reason(error: Exception) -> str:
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return _PLACE.sub("", message or "malformed")


def _json_ld(path: Path, file: IO[bytes], blank: Blank, fetch_contexts: bool) -> Iterator[list[Statement]]:
    import rdflib

    text = file.read()
    if not text.strip():
        return
    try:
        document = parse_json(text)
        if not isinstance(document, dict | list):
            raise ReadError(path, None, "not JSON-LD: neither an object nor a list")
        remote = None if fetch_contexts else next(_remote_contexts(document), None)
        if remote is not None:
            raise ReadError(
                path,
                None,
                f"refers to the @context {remote!r}, which is not read; include the context in the file, "
                "or allow it with --fetch-contexts if you trust the file",
            )
        data = rdflib.Dataset()
        data.parse(data=text, format="json-ld", publicID=_base(path))
    except json.JSONDecodeError as error:
        raise ReadError(path, error.lineno, error.msg) from error
    except OSError as error:
        raise ReadError(
            path, None, f"its @context cannot be fetched ({error}); include the context in the file"
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise ReadError(path, None, f"not JSON-LD: {error}") from error
    quads = iter(data.quads())
    while batch := list(islice(quads, _BATCH)):
        yield [_from_rdflib(s, p, o, blank) for s, p, o, _ in batch]


def _remote_contexts(document: object) -> Iterator[str]:
    """The addresses of all contexts outside the document."""
    open_: list[tuple[object, bool]] = [(document, False)]
    while open_:
        value, is_context = open_.pop()
        if isinstance(value, str) and is_context:
            yield value
        elif isinstance(value, list):
            open_ += [(item, is_context) for item in value]
        elif isinstance(value, dict):
            open_ += [(item, key == "@context" or (is_context and key == "@import")) for key, item in value.items()]


def _from_rdflib(subject: Any, predicate: Any, target: Any, blank: Blank) -> Statement:
    import rdflib

    head = blank(str(subject)) if isinstance(subject, rdflib.BNode) else str(subject)
    if isinstance(target, rdflib.Literal):
        datatype = XSD + "string" if target.datatype is None else str(target.datatype)
        return head, str(predicate), str(target), datatype, target.language
    return head, str(predicate), blank(str(target)) if isinstance(target, rdflib.BNode) else str(target), None, None
