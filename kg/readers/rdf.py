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
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote, unquote
from xml.parsers import expat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox

from triplecheck.kg.errors import ReadError, UserError
from triplecheck.kg.inference import inverses_of, with_inferred
from triplecheck.kg.readers._rdf_blank import with_flat_blanks
from triplecheck.kg.readers._rdf_describe import Descriptions, describe
from triplecheck.kg.readers._rdf_lenient import Leniency, UnsafeError, is_lenient, leniently, parsed, read_past_errors
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
from triplecheck.kg.readers.options import DEFAULTS, ReadOptions
from triplecheck.kg.readers.raw import (
    BadLine,
    RawGraph,
    StringColumns,
    bad_line,
    filtered,
    open_packed,
    without_triples,
)
from triplecheck.kg.readers.tables import suffix
from triplecheck.kg.types import XSD
from triplecheck.kg.values import parse_json
from triplecheck.kg.vocabulary import RDF, Vocabulary, missing_language

if TYPE_CHECKING:
    from triplecheck.kg.bulk import Triples


def read_rdf(paths: Sequence[Path], how: ReadOptions = DEFAULTS, store: Triples | None = None) -> RawGraph:
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
    Blank nodes become entities `_:b0`, `_:b1` ... in order of appearance; those that only hold values of one thing are
    left out, and the thing has the values (`_rdf_blank`). A literal keeps its lexical form and datatype; language tags
    are dropped. In JSON-LD, rdflib converts numbers and booleans to their canonical form.

    Args:
        paths: files; the extension determines the format (.nt .nq .ttl .trig .rdf .owl .xml .jsonld, and .gz after it).
        how: `skip_bad` is for lines of N-Triples and N-Quads and statements of Turtle; other formats cannot be read
            past an error. `progress` is called after each batch with the number of statements.
        store: receives the edges as they are read; the returned graph has none. Memory holds the descriptions.

    Raises:
        ReadError: a file is missing or malformed (with the line).
        UserError: there are statements about statements, and they would have to be joined with stored edges.
    """
    words = Vocabulary(language=how.language)
    edges = StringColumns(4) if store is None else _StoredEdges(store)
    literals = StringColumns(4)
    blanks: dict[tuple[int, str], str] = {}
    skipped: list[BadLine] = []
    schema: list[Statement] = []
    structure: list[Statement] = []
    leniency = Leniency(how.strict)
    done = 0
    for number, path in enumerate(paths):

        def blank(label: str, number: int = number) -> str:
            return blanks.setdefault((number, label), f"_:b{how.first_blank + len(blanks)}")

        for batch in _File(path, blank, skipped if how.skip_bad else None, leniency).statements(how.fetch_contexts):
            batch, special = _separated(batch, STRUCTURE)
            structure += special
            _encode(batch, words, edges, literals, schema)
            done += len(batch) + len(special)
            how.progress(f"reading {path.name}", done, None)
    raw = _finished(words, edges, literals, schema, structure, how.axioms)
    raw.skipped, raw.read = skipped, done
    raw.notes += leniency.note()
    return raw if store is None else without_triples(raw)


_NOT_INFERRED = (
    "{} relations are symmetric or have an inverse; edges that follow from that are inferred in memory alone: leave "
    "out --memory to have them"
)


class _StoredEdges(StringColumns):
    """Edges that are passed on to a store."""

    def __init__(self, store: Triples) -> None:
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
    columns = edges.arrays(described.subjects.dictionary)
    columns[1] = _with_plain_names(columns[1])
    raw = RawGraph(*columns)
    if isinstance(edges, _StoredEdges):
        if resolved.stated:
            raise UserError("statements about statements are read in memory: leave out --memory")
        edges.store.drop(resolved.hidden)
    elif resolved.stated:
        about = edges.rows(0, resolved.stated.keys())
        properties, repeated = stated_properties(resolved, about, columns[:3])
        rows = pa.array(np.concatenate([np.arange(len(raw)), np.array(repeated, np.int64)]))
        raw = replace(RawGraph(*(column.take(rows) for column in columns)), edge_properties=properties)
        left_out.update({name: n for name, n in resolved.left_out.items() if name == NOT_ASSERTED})
    if resolved.hidden and not isinstance(edges, _StoredEdges):
        hidden = pc.is_in(raw.heads, value_set=pa.array(sorted(resolved.hidden), pa.string()))
        raw = filtered(raw, ~hidden.to_numpy(zero_copy_only=False))
    entities, relation_rows, type_labels = describe(described, raw, words, with_schema=axioms)
    if resolved.hidden:
        entities = entities.filter(~pc.field("id").isin(sorted(resolved.hidden)))
    # That each café serves some drink does not say that each drink is served at some café.
    of_classes = {relation for _, relation, *_ in resolved.restrictions} if axioms else set()
    inverses = {} if given is False else inverses_of(schema, but=of_classes)
    reading = {"axioms": axioms or given, "language": words.language} | ({"inverses": inverses} if inverses else {})
    raw = replace(
        raw,
        entities=entities,
        relation_rows=relation_rows,
        type_labels=type_labels,
        superclasses={} if given is False else superclasses_of(schema, words.axioms[0]),
        described=described_only,
        left_out={reason: n for reason, n in left_out.items() if n},
        notes=missing_language(words.language, described.languages.dictionary.to_pylist()),
        reading=reading,
    )
    if inverses and isinstance(edges, _StoredEdges):
        raw.notes.append(_NOT_INFERRED.format(len(inverses)))
    return raw if isinstance(edges, _StoredEdges) else with_inferred(with_flat_blanks(raw), inverses)


def _with_plain_names(relations: pa.DictionaryArray) -> pa.DictionaryArray:
    names = pa.array([plain_id(name) for name in relations.dictionary.to_pylist()], pa.string())
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
_FORMATS: dict[str, ox.RdfFormat | None] = {
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


@dataclass(frozen=True)
class _File:
    """A file as it is read.

    Attributes:
        path: plain or gzipped; its extension determines the format.
        blank: returns the id of a blank node.
        skipped: receives the malformed lines of N-Triples and N-Quads and statements of Turtle; None: they are errors.
        leniency: whether what RDF does not allow is read.
    """

    path: Path
    blank: Blank
    skipped: list[BadLine] | None
    leniency: Leniency

    def statements(self, fetch_contexts: bool) -> Iterator[list[Statement]]:
        """Batches of about 100,000 statements, without names of graphs.

        Raises:
            ReadError: unreadable file, malformed content.
        """
        form = _FORMATS[suffix(self.path)]
        try:
            with _open(self.path) as file:
                if form is None:
                    yield from _json_ld(self.path, file, self.blank, fetch_contexts)
                elif form in _LINE_FORMATS:
                    yield from self._lines(file, form)
                elif self.skipped is not None and form is ox.RdfFormat.TURTLE and not _is_well_formed(self.path):
                    yield from self._past_errors(file)
                else:
                    yield from self._document(file, form)
        except _BAD_INPUT as error:
            raise ReadError(self.path, None, f"cannot be read: {error}") from error

    def _lines(self, file: IO[bytes], form: ox.RdfFormat) -> Iterator[list[Statement]]:
        """Parse block by block; a block with an error is parsed line by line, so that only bad lines are lost."""
        before = 0
        while lines := file.readlines(_BLOCK_BYTES):
            try:
                batch = _convert(ox.parse(b"".join(lines), form), self.blank)
                yield _with_plain_ids(batch) if any(PLAIN_ID.encode() in line for line in lines) else batch
            except (SyntaxError, _QuotedTripleError):
                good: list[Statement] = []
                for number, line in enumerate(lines, before + 1):
                    try:
                        good += _convert(parsed(line, form, self.leniency), self.blank)
                    except (SyntaxError, _QuotedTripleError) as error:
                        bad_line(self.skipped, self.path, number, _reason(error), error)
                yield good
            before += len(lines)

    def _document(self, file: IO[bytes], form: ox.RdfFormat) -> Iterator[list[Statement]]:
        path, is_xml = self.path, form is ox.RdfFormat.RDF_XML
        parser = ox.parse(file, form, base_iri=_base(path))
        done, ids = 0, dict[str, str]()
        if is_xml:
            with _open(path) as prolog:
                _check_prolog(path, prolog)
        way_out = f"; {form.name} cannot be read past an error; correct it or convert the file to N-Triples"
        way_out *= self.skipped is not None
        try:
            while quads := list(islice(parser, _BATCH)):
                yield _convert(quads, lambda label: ids.setdefault(label, self.blank(label)))
                done += len(quads)
        except SyntaxError as error:
            with _open(path) as again:
                whole_file = None if self.leniency.strict else leniently(again, form, _base(path))
            if whole_file is None:
                line = error.lineno
                if line is None and is_xml:
                    with _open(path) as whole:
                        line = _error_line(whole)
                raise ReadError(path, line, _reason(error) + way_out) from error
            yield from self._rest(whole_file, done, ids)
        except _QuotedTripleError as error:
            raise ReadError(path, None, _reason(error) + way_out) from error

    def _rest(self, quads: list[ox.Quad], done: int, ids: dict[str, str]) -> Iterator[list[Statement]]:
        """The statements of a document that was read leniently after those that were passed on, and whose blank nodes
        have these ids: the parser names them anew."""
        self.leniency.statements += sum(map(is_lenient, quads))
        labels: dict[str, str] = {}
        _convert(quads[:done], lambda label: labels.setdefault(label, label))
        known = dict(zip(labels, ids.values(), strict=False))
        for at in range(done, len(quads), _BATCH):
            yield _convert(quads[at : at + _BATCH], lambda label: known.get(label) or self.blank(label))

    def _past_errors(self, file: IO[bytes]) -> Iterator[list[Statement]]:
        """The well-formed statements of a Turtle document; the others are noted with their lines."""

        def skip(line: int, error: SyntaxError) -> None:
            bad_line(self.skipped, self.path, line, _reason(error), error)

        try:
            for quads in read_past_errors(file.read().decode(), _base(self.path), self.leniency, skip):
                yield _convert(quads, self.blank)
        except UnsafeError as error:
            reason = f"{error}; what follows cannot be read past it; correct it"
            raise ReadError(self.path, error.line, reason) from error
        except (UnicodeDecodeError, _QuotedTripleError) as error:
            raise ReadError(self.path, None, _reason(error)) from error


def _open(path: Path) -> IO[bytes]:
    file: Any = open_packed(path)
    if file.peek(3).startswith(codecs.BOM_UTF8):
        file.read(3)
    return file  # type: ignore[no-any-return]


def _base(path: Path) -> str:
    """Base of relative IRIs: the name of the file, without its folder."""
    return f"file:///{quote(path.name.split('.')[0])}"


def _with_plain_ids(batch: list[Statement]) -> list[Statement]:
    """Statements whose IRIs of `PLAIN_ID` are the ids that they were made of; predicates follow in `_finished`."""
    return [
        (plain_id(s), predicate, plain_id(o) if datatype is None else o, datatype and plain_id(datatype), tag)
        for s, predicate, o, datatype, tag in batch
    ]


def plain_id(iri: str) -> str:
    """The id that an IRI in N-Triples was made of."""
    return unquote(iri.removeprefix(PLAIN_ID)) if iri.startswith(PLAIN_ID) else iri


def _is_well_formed(path: Path) -> bool:
    with _open(path) as file:
        try:
            return all(True for _ in ox.parse(file, ox.RdfFormat.TURTLE, base_iri=_base(path)))
        except SyntaxError:
            return False


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


# --- XML -----------------------------------------------------------------------------------------
# Ontologies abbreviate namespaces by entities, which are no longer than an IRI.
_LONGEST_ENTITY = 1000


class _PrologOverError(Exception):
    """The first element is reached."""


def _check_prolog(path: Path, file: IO[bytes]) -> None:
    """Reject entity expansion attacks, before a parser expands them.

    Raises:
        ReadError: an entity that contains other entities, or a very long one; not XML.
    """
    parser = expat.ParserCreate()

    def declared(
        name: str, _parameter: bool, value: str | None, _base: object, _system: object, _public: object, _note: object
    ) -> None:
        if value is not None and ("&" in value or len(value) > _LONGEST_ENTITY):
            reason = f"entity {name!r} contains other entities or is too long; replace it by its content"
            raise ReadError(path, parser.CurrentLineNumber, reason)

    def element(_name: str, _attributes: object) -> None:
        raise _PrologOverError

    parser.EntityDeclHandler = declared
    parser.StartElementHandler = element
    try:
        parser.ParseFile(file)
    except _PrologOverError:
        return
    except LookupError as error:
        raise ReadError(path, 1, str(error)) from error
    except expat.ExpatError as error:
        if error.code != expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
            raise ReadError(path, error.lineno, expat.ErrorString(error.code)) from error


def _error_line(file: IO[bytes]) -> int | None:
    """Line of the first XML error; None if the XML is valid and only its RDF is wrong."""
    parser = expat.ParserCreate()
    try:
        parser.ParseFile(file)
    except LookupError:  # an unknown encoding
        return 1
    except expat.ExpatError as error:
        return error.lineno
    return None


# --- JSON-LD -------------------------------------------------------------------------------------
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
