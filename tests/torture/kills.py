"""Kills of commands: at each rename, sync, creation and removal of a file, within writes, and at random moments.

`COMMANDS` is the table of commands: one line each. A command runs again and again in forked processes, in a copy of
its folder; `faults.c` kills them. After each kill, everything there must be whole. After the last one the same command
must end well, with the files of a run that nobody disturbed: no file more (a draft), none less, equal bytes where two
undisturbed runs agree, and each line of finished work as it was when it was first written.
"""

from __future__ import annotations

import contextlib
import ctypes
import gzip
import importlib
import io
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.attack import Attack, Case, Failure

RENAME, SYNC, WRITE, CREATE, REMOVE = 1, 2, 4, 8, 16
BEFORE, AFTER, WITHIN, FAIL = 1, 2, 3, 4
STEPS = RENAME | SYNC | CREATE | REMOVE

_SECONDS = 120.0
_RANDOM = re.compile(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{16}(?=\.safetensors$)")
"""Names that tantivy draws, and hashes of rankers, which say how long the training took."""


@dataclass(frozen=True)
class Command:
    """A command to kill.

    Attributes:
        words: the command line, in the folder of `inputs`. It reads `questions.txt` from standard input;
            its model `honest` replies like `extractive`.
        before: command lines that make the state before.
        asked: questions to a server that the command starts; after them it gets the signal to end.
        done: the error of the command when its work is done already.
    """

    words: str
    before: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    done: str = ""

    def is_done(self, ended: Ended) -> bool:
        """Whether a run found its work done."""
        return ended.code == 2 and bool(self.done) and self.done in ended.output


_BASE = "kb build base --triples old.tsv --no-vectors"
_BOOKS = "kb build base --triples new.tsv --no-vectors"
_WITH_TEXTS = "kb build base --triples old.tsv --documents texts.jsonl --no-vectors"
_EMBED = "kb embed base --loop sampled --dimensions 4 --epochs 3 --batch-size 64 --evaluate-every 1"
_ASKED = "--kb base --questions questions.jsonl --hops 1"
COMMANDS = {
    "build": Command("kb build base --triples new.tsv --documents texts.jsonl --no-vectors", (_BASE,)),
    "build-vectors": Command("kb build base --triples new.tsv", (_BASE,)),
    "add": Command("kb add base --triples new.tsv", (_WITH_TEXTS, _EMBED)),
    "update": Command("kb update base --triples moved.tsv --documents more.jsonl", (_WITH_TEXTS,)),
    "export": Command("kb export base graph.nt --entities entities.tsv", (_BASE,)),
    "merge": Command("kb merge all base other", (_WITH_TEXTS, "kb build other --triples new.tsv --no-vectors")),
    "embed": Command(_EMBED, (_BASE,)),
    "encode": Command("kb encode base", ("kb build base --triples old.tsv --documents texts.jsonl",)),
    "eval": Command(f"eval kerag {_ASKED} --out run", (_BASE,)),
    "collect": Command(f"collect kerag {_ASKED} --out traces --export trl", (_BASE,)),
    "compile": Command(
        f"compile kerag {_ASKED} --optimizer BootstrapFewShot --teacher gold --limit 8 --out run", (_BASE,)
    ),
    "fit": Command(f"fit kerag {_ASKED} --guarantee asked --alpha 0.4 --try limits.candidates=1,3 --out run", (_BASE,)),
    "synthesize": Command("synthesize base made.jsonl --limit 8", (_BASE,)),
    "remove": Command(
        'kb remove base --entities "Person Adler" --documents gone.txt',
        (_WITH_TEXTS, _EMBED),
        done="nothing to remove was found",
    ),
    "extract": Command(
        "kb extract articles.jsonl made --no-vectors", ("kb build made --triples old.tsv --no-vectors",)
    ),
    "train": Command("kb train base --questions books.jsonl", (_BOOKS,)),
    "train-ranker": Command(
        'train-ranker . --source "simplequestions-wikidata train" --limit 60 --out ranker.safetensors'
    ),
    "collect-samples": Command(
        f"collect kerag {_ASKED} --out sampled --pass verified --samples 2 --verify agreement --lm honest", (_BASE,)
    ),
    "proof-files": Command(
        'ask "Where was Person Adler born?" --kb base --html a.html --svg a.svg --graphml a.graphml', (_BASE,)
    ),
    "chat": Command("chat -q --kb base", (_WITH_TEXTS,)),
    "serve": Command(
        "serve --kb base --port 0", (_WITH_TEXTS,), ("Where was Person Adler born?", "Who is Person Eich?")
    ),
    "distill-ranker": Command(
        "distill collected --student ranker --out adapters --name toy",
        (_BOOKS, "collect kerag --kb base --questions books.jsonl --hops 1 --pass gold --out collected"),
    ),
    "distill": Command(
        "distill traces --student lora --base model --out adapters --name toy --epochs 1 --batch 4 --rank 2"
        " --dev-rows 4 --samples 0 --precision float32 --device cpu"
    ),
}
"""The commands by name."""


def inputs(folder: Path) -> None:
    """Write the files that the commands read: two graphs, documents, questions, traces and a small model."""
    people = [f"Person {name}" for name in ("Adler", "Brandt", "Celan", "Döblin", "Eich", "Fried", "Grass", "Huch")]
    places = [f"City of {name}" for name in ("Ulm", "Köln", "Bonn", "Jena", "Trier")]
    chance = random.Random(0)
    edges = [(person, "born in", chance.choice(places)) for person in people]
    edges += [(person, "teacher", chance.choice(people)) for person in people]
    edges += [(place, "twinned with", chance.choice(places)) for place in places]
    new = [*edges, *((f"Book {n}", "author", chance.choice(people)) for n in range(200))]
    moved = [(person, "born in", places[0]) for person in people]
    for name, rows_of in (("old", edges), ("new", new), ("moved", moved)):
        (folder / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in rows_of), "utf-8")
    for name, verb in (("texts", "wrote"), ("more", "read")):
        texts = ({"id": f"{name}{n}", "node": who, "text": f"{who} {verb}."} for n, who in enumerate(people))
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
    books = [edge for edge in new if edge[1] == "author"][:66]
    for name, wording, asked in (
        ("questions", "Where was {} born?", edges[: len(people)]),
        ("books", "Who is the author of {}?", books),
    ):
        questions = (
            {"id": f"q{n}", "question": wording.format(head), "topic": head, "answers": [tail], "path": [relation]}
            for n, (head, relation, tail) in enumerate(asked)
        )
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions), "utf-8")
    (folder / "questions.txt").write_text("".join(f"Where was {who} born?\n" for who in people[:3]), "utf-8")
    (folder / "gone.txt").write_text("texts1\ntexts2\n")
    articles = (
        {"id": who, "text": f"{who} was born in {place}. {who} lives there."}
        for who, place in zip(people, places, strict=False)
    )
    (folder / "articles.jsonl").write_text("".join(json.dumps(article) + "\n" for article in articles), "utf-8")
    _relation_questions(folder, people)
    if not os.environ.get("TORTURE_COMMANDS"):
        from distil_parts import gold_row, tiny_llama, traces

        rows = [gold_row(number, "train" if number < 12 else "dev") for number in range(16)]
        tiny_llama(folder / "model", [message["content"] for row in rows for message in row.messages], 8192)
        traces(folder / "traces", rows)


def _relation_questions(folder: Path, people: list[str]) -> None:
    """The files that `train-ranker` reads."""
    row = {"vocabulary": "wikidata", "operation": "none", "source": "simplequestions-wikidata train"}
    rows = (
        {**row, "id": f"q{n}", "question": f"Who painted {people[n % 8]}{n}?", "topics": [f"Q{n}"]}
        | {"paths": [[["P1", ("forward", "backward")[n % 2]]]]}
        for n in range(60)
    )
    asked = "".join(json.dumps(one) + "\n" for one in rows)
    named = "vocabulary\tid\tlabel\taliases\nwikidata\tP1\tpainter\tpainted by|artist\nwikidata\tP2\towner\t\n"
    (folder / "questions_train.jsonl.gz").write_bytes(gzip.compress(asked.encode(), mtime=0))
    (folder / "relations.tsv.gz").write_bytes(gzip.compress(named.encode(), mtime=0))


class Nursery:
    """Forks processes that have everything imported and run one command each.

    Args:
        folder: for templates and logs.
    """

    def __init__(self, folder: Path) -> None:
        _import_everything()
        self._folder = folder
        self._inputs = folder / "inputs"
        self._references: dict[str, Reference] = {}
        self._inputs.mkdir()
        _checked(self.run(lambda: inputs(self._inputs), folder))

    def command(self, place: Path, words: str, asked: tuple[str, ...] = (), **fault: Any) -> Ended:
        """Run a command in a folder, with a fault below it."""
        return self.run(lambda: _command(words, asked), place, **fault)

    def run(
        self,
        work: Callable[[], None],
        place: Path,
        *,
        kinds: int = 0,
        nth: int = 0,
        action: int = 0,
        error: int = 0,
        after: float = _SECONDS,
    ) -> Ended:
        """Run something in a forked process.

        Args:
            work: the something.
            place: its folder, where `faults.c` counts events.
            kinds: of events.
            nth: the event of the fault; 0 counts only.
            action: the fault.
            error: of the fault `FAIL`.
            after: seconds until it is killed.
        """
        log = self._folder / "log"
        with log.open("wb") as output:
            began = time.monotonic()
            pid = os.fork()
            if not pid:
                _child(work, place, output.fileno(), kinds or STEPS, nth, action, error, self._folder / "events")
            status = _waited(pid, began + after)
        seconds = time.monotonic() - began
        return Ended(os.waitstatus_to_exitcode(status), seconds, log.read_text("utf-8", "replace"), self._folder)

    def reference(self, name: str) -> Reference:
        """The template and the results of undisturbed runs of a command."""
        if name not in self._references:
            command = COMMANDS[name]
            template, ends = self._folder / f"{name}-template", []
            shutil.copytree(self._inputs, template)
            for words in command.before:
                _checked(self.command(template, words))
            self._import()
            for number in range(2):
                place = self._folder / f"{name}-{number}"
                shutil.copytree(template, place)
                ended = _checked(self.command(place, command.words, command.asked))
                self._import()
                ends.append(snapshot(place))
                shutil.rmtree(place)
            same = {path: content for path, content in ends[0].items() if _must_agree(path, ends, content)}
            self._references[name] = Reference(template, frozenset(ends[0]), same, ended.events, ended.seconds)
        return self._references[name]

    def _import(self) -> None:
        """Import what the last process has imported, so that the next ones need not."""
        for name in (self._folder / "modules").read_text().split():
            with contextlib.suppress(Exception):
                importlib.import_module(name)


@dataclass(frozen=True)
class Ended:
    """A process that has ended."""

    code: int
    seconds: float
    output: str
    folder: Path

    @property
    def events(self) -> int:
        """Events that were counted, of a process that was not killed."""
        return int((self.folder / "events").read_text())


@dataclass(frozen=True)
class Reference:
    """Runs of a command that nobody disturbed.

    Attributes:
        template: the folder before.
        names: all paths after.
        same: the content of the files that two runs write equally.
        events: steps of a run.
        seconds: of a run.
    """

    template: Path
    names: frozenset[str]
    same: Mapping[str, bytes]
    events: int
    seconds: float


def snapshot(place: Path) -> dict[str, bytes]:
    """The content of all files and links below a folder, by path; not the caches of others."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if name.startswith("cache/") or path.name.startswith("cache.db"):  # SQLite
            continue
        name = _RANDOM.sub("*", name)
        if path.is_symlink():
            found[name] = os.fsencode(path.readlink())
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


_MAY_DIFFER = ("records.jsonl", "estimate.json", "pilot.json", "embeddings.json", "manifest.json", "*.safetensors")
"""A record that no row follows is written again; the others say how long something took."""


def _must_agree(path: str, ends: list[dict[str, bytes]], content: bytes) -> bool:
    """Not the files of tantivy, whose threads share out the documents."""
    return ends[1].get(path) == content and "/words/" not in path and Path(path).name not in _MAY_DIFFER


def _import_everything() -> None:
    os.environ |= {"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    import pyarrow
    import tantivy  # noqa: F401

    import triplecheck.app.main

    pyarrow.set_cpu_count(1)
    if os.environ.get("TORTURE_COMMANDS"):
        return
    import torch

    import triplecheck.evals
    import triplecheck.kg
    import triplecheck.optimize.distil
    import triplecheck.optimize.fit
    import triplecheck.programs  # noqa: F401

    with contextlib.suppress(ImportError):
        import trl  # noqa: F401
    torch.set_num_threads(1)


def _command(words: str, asked: tuple[str, ...] = ()) -> None:
    from torture.replies import Hostile
    from triplecheck.app.main import app
    from triplecheck.lms import register_engine

    register_engine("honest", Hostile())
    if asked:
        signal.signal(signal.SIGTERM, lambda *_: None)  # uvicorn raises it again at its end
        listening, port = threading.Event(), []
        _tell_port(listening, port)
        threading.Thread(target=_ask_server, args=(listening, port, asked), daemon=True).start()
    with Path("questions.txt").open(encoding="utf-8") as sys.stdin:
        app(shlex.split(words))


def _tell_port(listening: threading.Event, port: list[int]) -> None:
    """Let somebody know the port that the server of this process listens on."""
    from triplecheck.app.serve import run

    listen = run.listen

    def listened(host: str, number: int) -> socket.socket:
        found = listen(host, number)
        port.append(found.getsockname()[1])
        listening.set()
        return found

    run.listen = listened


def _ask_server(listening: threading.Event, port: list[int], asked: tuple[str, ...]) -> None:
    """Serve in this process, ask all questions at the same time, then stop the server as its user would."""
    listening.wait()

    def ask(question: str) -> None:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port[0]}/v1/ask",
            json.dumps({"question": question}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:
            reply.read()

    try:
        with ThreadPoolExecutor(len(asked)) as pool:
            list(pool.map(ask, asked))
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _child(
    work: Callable[[], None], place: Path, output: int, kinds: int, nth: int, action: int, error: int, events: Path
) -> None:
    code = 70
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout = sys.stderr = io.TextIOWrapper(io.FileIO(1, "w"), "utf-8", write_through=True)
        os.chdir(place)
        os.environ["DSPY_CACHEDIR"] = os.environ["TRIPLECHECK_CACHE"] = str(place / "cache")
        faults = ctypes.CDLL(None)
        faults.torture_arm(os.fsencode(f"{place}/"), kinds, ctypes.c_long(nth), action, error)
        try:
            work()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        counted = faults.torture_events()
        faults.torture_arm(b"", 0, ctypes.c_long(0), 0, 0)
        events.write_text(str(counted))
        events.with_name("modules").write_text("\n".join(sys.modules))
    except BaseException:  # noqa: BLE001 - the log is read by the parent
        traceback.print_exc()
    finally:
        os._exit(code)


def _waited(pid: int, deadline: float) -> int:
    pause = 0.001
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            return os.waitpid(pid, 0)[1]
        time.sleep(pause)
        pause = min(pause * 1.2, 0.01)


def _checked(ended: Ended) -> Ended:
    if ended.code:
        raise Failure(f"an undisturbed run ends with {ended.code}: {ended.output[-2000:]}")
    return ended


def whole(place: Path) -> None:
    """Check all that a folder holds: bases, bundles, adapters, and the lines of finished work.

    It runs in a process of its own, which imports only what it finds there.

    Raises:
        Failure: something is neither old nor new.
    """
    from triplecheck.kg import KnowledgeBase, TriplecheckError

    for path in place.rglob("manifest.json"):
        folder = path.parent
        hidden = any(part.startswith(".") for part in folder.relative_to(place).parts)
        try:
            written = json.loads(path.read_bytes())
            form = written.get("format", "")
            if hidden or not isinstance(written, dict):
                continue
            if form == "triplecheck-knowledge-base":
                base = KnowledgeBase.open(folder)
                base.verify()
                base.graph.labels(range(base.graph.num_nodes))
                _ = base.names, base.documents, base.embeddings
            elif form == "triplecheck-bundle":
                from triplecheck.optimize.bundle import load_bundle

                load_bundle(folder)
            elif form == "triplecheck-distilled":
                from triplecheck.optimize.distil.run import read_manifest

                read_manifest(folder)
        except (TriplecheckError, ValueError) as error:
            raise Failure(f"{folder.relative_to(place)}: not whole: {error}") from error


def finished(place: Path) -> dict[str, list[bytes]]:
    """The complete lines of rows, records and scores, by file."""
    found = {}
    for path in place.rglob("*.jsonl"):
        name = path.relative_to(place).as_posix()
        if path.name in ("rows.jsonl", "records.jsonl", "scores.jsonl"):
            found[name] = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return found


def lost(before: Mapping[str, list[bytes]], after: Mapping[str, list[bytes]]) -> list[str]:
    """Lines of finished work that are missing later."""
    return [
        f"{name}: {line[:80]!r}" for name, lines in before.items() for line in set(lines) - set(after.get(name, []))
    ]


def killed(nursery: Nursery, name: str, chance: random.Random, step: int | None) -> int:
    """Kill a command several times, then let it end; return the number of kills.

    Args:
        nursery: forks.
        name: the command.
        chance: chooses the moments.
        step: the step of the first kill, counted over before and after; None: chosen by chance.
    """
    reference, command = nursery.reference(name), COMMANDS[name]
    place = nursery._folder / "place"
    shutil.copytree(reference.template, place)
    try:
        done: dict[str, list[bytes]] = {}
        kills = 0
        for number in range(KILLS_OF_A_CASE):
            if number == 0 and step is not None:
                ended = nursery.command(
                    place, command.words, command.asked, nth=1 + step // 2, action=(BEFORE, AFTER)[step % 2]
                )
            else:
                ended = _killed_by_chance(nursery, reference, command, place, chance)
            if command.is_done(ended):
                break
            if ended.code not in (0, -signal.SIGKILL):
                raise Failure(f"{name}: the run after {kills} kills ended with {ended.code}: {ended.output[-3000:]}")
            if ended.code == 0:
                break
            kills += 1
            _checked_in_child(nursery, place, name)
            now = finished(place)
            if lost(done, now):
                raise Failure(f"{name}: finished work is lost: {lost(done, now)[:3]}")
            done = now
        ended = nursery.command(place, command.words, command.asked)
        if ended.code and not command.is_done(ended):
            raise Failure(f"{name}: the last run ended with {ended.code}: {ended.output[-3000:]}")
        _checked_in_child(nursery, place, name)
        kept = {path: lines for path, lines in done.items() if not path.startswith(".")}  # others go at the end
        if lost(kept, finished(place)):
            raise Failure(f"{name}: finished work is lost or repeated: {lost(kept, finished(place))[:3]}")
        _compare(name, reference, snapshot(place))
        return kills
    finally:
        shutil.rmtree(place, ignore_errors=True)


KILLS_OF_A_CASE = 5


def _killed_by_chance(
    nursery: Nursery, reference: Reference, command: Command, place: Path, chance: random.Random
) -> Ended:
    how = chance.random()
    if how < 0.4:
        nth = int(2 ** chance.uniform(0, math.log2(reference.events + 1)))
        return nursery.command(place, command.words, command.asked, nth=nth, action=chance.choice((BEFORE, AFTER)))
    if how < 0.8:
        nth = int(2 ** chance.uniform(0, 6))
        return nursery.command(place, command.words, command.asked, kinds=WRITE, nth=nth, action=WITHIN)
    return nursery.command(place, command.words, command.asked, after=chance.random() * reference.seconds)


def _checked_in_child(nursery: Nursery, place: Path, name: str) -> None:
    ended = nursery.run(lambda: whole(place), place)
    if ended.code:
        raise Failure(f"{name}: {ended.output.strip().splitlines()[-1] if ended.output.strip() else ended.code}")


def _compare(name: str, reference: Reference, found: Mapping[str, bytes]) -> None:
    more, less = sorted(set(found) - reference.names), sorted(reference.names - set(found))
    if more or less:
        raise Failure(f"{name}: files too many: {more}; missing: {less}")
    differ = [path for path, content in reference.same.items() if found[path] != content]
    if differ:
        raise Failure(f"{name}: the content differs from an undisturbed run: {differ}")


def available() -> list[str]:
    """The commands to attack; the variable TORTURE_COMMANDS chooses some."""
    chosen = os.environ.get("TORTURE_COMMANDS")
    if chosen:
        return chosen.split(",")
    with contextlib.suppress(ImportError):
        import trl  # noqa: F401

        return list(COMMANDS)
    return [name for name in COMMANDS if name != "distill"]


@contextlib.contextmanager
def cases(folder: Path) -> Iterator[Case]:
    """One command after another: first at each step of each, then at random moments."""
    nursery, names = Nursery(folder), available()

    def case(number: int, chance: random.Random) -> int:
        name, turn = names[number % len(names)], number // len(names)
        steps = 2 * nursery.reference(name).events
        return killed(nursery, name, chance, turn if turn < steps else None)

    yield case


KILLS = Attack("kills", "kills of commands", 300, 300.0, cases, preloaded=True)
