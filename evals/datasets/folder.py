"""Benchmarks in a folder: files of triples, documents and questions, recognised by name.

Each file may also end in `.gz`:

- `questions.jsonl`, `questions_NAME.jsonl`: questions (`evals.questions`); each file is a benchmark;
- `triples.SUFFIX`, `NAME_triples.SUFFIX` (any format of `kg.readers`): triples; without such a file, all RDF files;
- `entities.SUFFIX`, `relations.SUFFIX`: labels, aliases, descriptions and types;
- `documents.jsonl`, `corpus.jsonl`: documents.

Options are in `cases.toml`. Each table is named by a case or a pattern (`*`, `?`) of cases; the last matching table
applies:

    ["*/popqa*"]
    one_answer = true              # the answers of a question are spellings of one answer

    ["passages"]
    where = { split = "test" }     # only questions with this field value

    ["films/webqsp"]
    supported_only = false         # also questions whose gold path is not in the graph
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from triplecheck.evals.questions import Question, bundled_questions, check_limit, read_questions, sampled
from triplecheck.kg import KnowledgeBase, ReadError, UserError, build
from triplecheck.kg._atomic import write_text
from triplecheck.kg.readers import RDF_SUFFIXES, read_graph
from triplecheck.kg.readers.documents import DocumentFile
from triplecheck.kg.readers.tables import TABLE_SUFFIXES, suffix

OPTIONS_FILE = "cases.toml"
_DOCUMENTS = ("documents", "corpus")


@dataclass(frozen=True)
class DataFolderOptions:
    """How to read the questions of a case."""

    one_answer: bool = False
    """Whether the answers of each question are spellings of one answer."""
    supported_only: bool = True
    """Whether to leave out questions whose gold path is not in the graph. This applies to files with a field
    `gold_path` that is true for some question."""
    where: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Field values; questions with other values are left out."""


@dataclass(frozen=True)
class DataFolder:
    """A benchmark: the source files of a knowledge base, and a file of questions about it."""

    name: str
    """`FOLDER/NAME` for `questions_NAME.jsonl`, else `FOLDER`."""
    folder: Path
    """Cases of one folder share their knowledge base."""
    questions: Path
    triples: tuple[Path, ...] = ()
    entities: Path | None = None
    relations: Path | None = None
    documents: Path | None = None
    options: DataFolderOptions = DataFolderOptions()

    def sample(self, limit: int | None = None, seed: int = 0) -> list[Question]:
        """The questions of the case, filtered by its options; see `evals.read_questions` for order and sampling.

        Raises:
            ReadError: the file is malformed.
            UserError: no question matches, or `limit` is below 1.
        """
        check_limit(limit)
        found = self.matching()
        if not found:
            raise UserError(f"{self.questions}: no question matches where = {dict(self.options.where)}")
        picked = found if limit is None else sampled(found, limit, seed)
        return [replace(one, one_answer=True) for one in picked] if self.options.one_answer else picked

    def matching(self) -> list[Question]:
        """The questions that the options select, in the order of the file."""
        found = read_questions(self.questions)
        found = [one for one in found if all(_field(one, name) == value for name, value in self.options.where.items())]
        if self.options.supported_only and any(one.gold.get("gold_path") is True for one in found):
            found = [one for one in found if one.gold.get("gold_path") is True]
        return found

    def knowledge_base(self, place: Path | str) -> KnowledgeBase:
        """Open the knowledge base in a directory; build it there first if it does not exist.

        The bundled one is opened as `KnowledgeBase.open("bundled")` does, with its embeddings.

        Raises:
            ReadError: a source is malformed.
            UserError: the case has no triples.
        """
        if self.folder == bundled_questions("test").parent:
            return KnowledgeBase.open("bundled")
        place = Path(place)
        about = place.with_name(f"{place.name}.sources")
        if (place / "manifest.json").is_file():
            if about.is_file() and about.read_text("utf-8") != _digest(self.sources):
                raise UserError(f"{place}: was built from other files than those in {self.folder} now; remove it")
            return KnowledgeBase.open(place)
        if not self.triples:
            raise UserError(f"{self.folder}: no triples.* to build a knowledge base from")
        documents = None if self.documents is None else DocumentFile(self.documents)
        raw = read_graph(self.triples, self.entities, self.relations)
        kb = build(raw, place, documents=documents, sources=[path.name for path in self.sources])
        write_text(about, _digest(self.sources))
        return kb

    @property
    def sources(self) -> tuple[Path, ...]:
        """All files that the knowledge base is built from."""
        return (*self.triples, *(path for path in (self.entities, self.relations, self.documents) if path is not None))


def _digest(files: Iterable[Path]) -> str:
    """A hash of the names and the contents of some files."""
    found = hashlib.sha256()
    for path in files:
        found.update(path.name.encode() + b"\0")
        with path.open("rb") as file:
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def bundled_case(split: str = "test") -> DataFolder:
    """The bundled knowledge base with its questions of a split: `train`, `dev` or `test`.

    Raises:
        UserError: there is no such split.
    """
    path = bundled_questions(split)
    return next(case for case in read_folder(path.parent) if case.questions == path)


def find_cases(data: Path | str) -> list[DataFolder]:
    """The cases of a folder and its direct subfolders, with the options in its `cases.toml`, if it exists.

    Raises:
        UserError: the folder is missing or has no case, or `cases.toml` is invalid.
    """
    data = Path(data)
    if not data.is_dir():
        raise UserError(f"{data}: no such folder")
    options = _options_in(data)
    folders = [data, *sorted(path for path in data.iterdir() if path.is_dir())]
    found = [case for folder in folders for case in read_folder(folder, options)]
    if not found:
        raise UserError(f"{data}: no questions.jsonl or questions_NAME.jsonl in the folder or a direct subfolder")
    return found


def read_folder(folder: Path | str, options: Mapping[str, DataFolderOptions] | None = None) -> list[DataFolder]:
    """The cases of one folder; an empty list if it has no questions.

    Args:
        options: options by name pattern; None: those in the folder's `cases.toml`, if it exists.
    """
    folder = Path(folder)
    options = _options_in(folder) if options is None else options
    files = sorted(path for path in folder.iterdir() if path.is_file())
    triples = _triples(files)
    found = []
    for path in files:
        stem = _stem(path)
        if suffix(path) != ".jsonl" or not (stem == "questions" or stem.startswith("questions_")):
            continue
        own = stem.removeprefix("questions").removeprefix("_")
        base = folder.absolute().name
        name = f"{base}/{own}" if own else base
        case = DataFolder(
            name=name,
            folder=folder,
            questions=path,
            triples=triples,
            entities=_named(files, ("entities",), TABLE_SUFFIXES),
            relations=_named(files, ("relations",), TABLE_SUFFIXES),
            documents=_named(files, _DOCUMENTS, (".jsonl",)),
            options=_options_of(name, options),
        )
        found.append(case)
    return found


def _options_in(folder: Path) -> dict[str, DataFolderOptions]:
    """The options in a folder's `cases.toml`, by name pattern; none without the file.

    Raises:
        ReadError: the file is malformed, or an option is unknown or of the wrong type.
    """
    path = folder / OPTIONS_FILE
    try:
        tables = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ReadError(path, None, f"not valid TOML ({error})") from error
    return {pattern: _options(path, pattern, table) for pattern, table in tables.items()}


def _options(path: Path, pattern: str, table: Any) -> DataFolderOptions:
    if not isinstance(table, dict):
        raise ReadError(path, None, f"{pattern} is a value; write a table: [{pattern!r}]")
    kinds = {one.name: dict if one.name == "where" else bool for one in fields(DataFolderOptions)}
    for name, value in table.items():
        if name not in kinds:
            raise ReadError(path, None, f"[{pattern}] has an unknown option {name!r}; known: {', '.join(kinds)}")
        if not isinstance(value, kinds[name]):
            raise ReadError(path, None, f"[{pattern}] {name} is {value!r}, not a {kinds[name].__name__}")
    return DataFolderOptions(**table)


def _options_of(name: str, options: Mapping[str, DataFolderOptions]) -> DataFolderOptions:
    fitting = [value for pattern, value in options.items() if fnmatchcase(name, pattern)]
    return fitting[-1] if fitting else DataFolderOptions()


def _triples(files: Sequence[Path]) -> tuple[Path, ...]:
    known = [path for path in files if suffix(path) in (*TABLE_SUFFIXES, *RDF_SUFFIXES)]
    named = tuple(path for path in known if _stem(path) == "triples" or _stem(path).endswith("_triples"))
    return named or tuple(path for path in known if suffix(path) in RDF_SUFFIXES)


def _named(files: Sequence[Path], stems: Sequence[str], suffixes: Sequence[str]) -> Path | None:
    fitting: Iterator[Path] = (path for path in files if _stem(path) in stems and suffix(path) in suffixes)
    return next(fitting, None)


def _field(question: Question, name: str) -> Any:
    for known in (question.gold, question.extra):
        if name in known:
            return known[name]
    return getattr(question, name, None)


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem
