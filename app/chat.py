"""`triplecheck chat`: one question after the other, with follow-up questions."""

from __future__ import annotations

import contextlib
import itertools
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triplecheck.app.ask import print_line, thinking
from triplecheck.app.console import is_full, is_quiet, is_verbose, printable, say, stderr, stdout
from triplecheck.app.errors import complain
from triplecheck.app.opening import open_setup
from triplecheck.app.options import ProgramOption, RunOptions, flattened

if TYPE_CHECKING:
    from rich.console import Console

    from triplecheck.app.config import Settings
    from triplecheck.app.opening import Setup
    from triplecheck.app.serve.types import Answer

_PROMPT = "> "
_HISTORY = 1_000  # lines
_LEAVING = ("/quit", "quit", "exit")

COMMANDS = {
    "/kb": ("/kb [KB]", "ask another knowledge base; without a name: which one is asked"),
    "/program": ("/program [NAME]", "let another program answer; without a name: which ones there are"),
    "/why": ("/why", "the steps that led to the last answer"),
    "/graph": ("/graph [FILE]", "write the picture of the last answer as a page, and open it"),
    "/new": ("/new", "begin a new conversation"),
    "/help": ("/help", "this list"),
    "/quit": ("/quit", "leave; Ctrl-D does the same"),
}
"""What can be typed besides questions: usage and meaning."""


@dataclass
class Chat:
    """A conversation. Bases, programs and models stay open.

    Args:
        out: where answers go.
    """

    settings: Settings
    out: Console
    setup: Setup = field(init=False)
    turns: list[tuple[str, str]] = field(default_factory=list)
    """Earlier questions, as they were understood, with their answers."""
    last: tuple[Any, Answer] | None = None
    """The last prediction, and the same as a record without its picture."""

    def __post_init__(self) -> None:
        from triplecheck.programs.conversation import FollowUps

        self._follow_ups = FollowUps()
        self._open(self.settings)

    def _open(self, settings: Settings) -> None:
        self.setup = open_setup(settings, stderr())
        self.settings = settings
        self.new()

    def new(self, _: str = "") -> None:
        """Forget the conversation."""
        self.turns, self.last = [], None

    def ask(self, question: str) -> None:
        """Answer a question and print the answer; print how a follow-up question is understood."""
        from triplecheck.app import render
        from triplecheck.app.serve.service import Steps, name_of
        from triplecheck.lms import session

        started = time.perf_counter()
        err, steps = stderr(), Steps()
        with (
            session(self.setup.roles, budget=self.setup.budget) as ledger,
            thinking(err, self.out if is_verbose() else None) as show,
        ):
            asked = self._follow_ups.understood(question, self.turns)
            if asked != question:
                self.out.print(f"  {printable(asked)}", style="italic cyan", soft_wrap=not self.out.is_terminal)

            def on_step(event: Any) -> None:
                show(event)
                steps.note(event)

            result = self.setup.program(question=asked, on_step=on_step)
        self.last = result, steps.answer(name_of(self.settings.kb), self.setup.program.sources, result)
        self.turns.append((asked, "" if result.abstained else result.answer))
        for line in render.answer_lines(result, ids=is_verbose()):
            print_line(line, self.out)
        if is_verbose():
            print_line(render.usage_line(ledger.usage(), result.program, time.perf_counter() - started), self.out)

    # --- commands --------------------------------------------------------------------------------
    def kb(self, name: str) -> None:
        """Change the knowledge base."""
        if name:
            self._open(self.settings.model_copy(update={"kb": name}))
        say(self.heading(), to=self.out)

    def program(self, name: str) -> None:
        """Change the program."""
        from triplecheck.programs import program_names, resolve_program

        if name and resolve_program(name).name != self.setup.program.name:
            # Bundle and options belong to the configured program.
            update: dict[str, Any] = {"program": name, "bundle": None, "options": {}}
            turns = self.turns
            self._open(self.settings.model_copy(update=update))
            self.turns = turns
        say(f"{self.setup.program.name}, of: {', '.join(program_names())}", to=self.out)

    def why(self, _: str) -> None:
        """Print the steps of the last answer."""
        from triplecheck.app import render

        result, _answer = self._answered()
        for step in result.steps:
            for line in render.step_lines(step, full=is_full()):
                print_line(line, self.out)
        print_line(render.usage_line(result.usage, result.program), self.out)

    def graph(self, name: str) -> None:
        """Write the picture of the last answer, and open it if a person watches."""
        from triplecheck.app.proof_files import ProofOptions
        from triplecheck.app.serve.picture import picture_of

        result, answer = self._answered()
        path = Path(name).expanduser() if name else Path(tempfile.mkdtemp(prefix="triplecheck-")) / "proof.html"
        files = ProofOptions(html=path)
        files.check()
        sources = self.setup.program.sources
        picture = picture_of(sources.graph, sources.schema_names, result)
        files.write(answer.model_copy(update={"picture": picture}))
        say(path, to=self.out)
        if self.out.is_terminal:
            webbrowser.open(path.absolute().as_uri())

    def help(self, _: str) -> None:
        """List the commands."""
        for usage, meaning in COMMANDS.values():
            self.out.print(f"  {usage:<16} {meaning}")

    def _answered(self) -> tuple[Any, Answer]:
        from triplecheck.kg import UserError

        if self.last is None:
            raise UserError("there is no answer yet: ask a question first")
        return self.last

    def heading(self) -> str:
        """What is asked, and what answers."""
        kb, program = self.setup.kb, self.setup.program
        size = "" if kb.is_remote else f", {kb.manifest.counts['triples']:,} triples"
        every = (*program.own_roles, self.setup.roles)
        models = ", ".join(dict.fromkeys(name for roles in every for name in roles.models()))
        return f"{self.settings.kb or 'bundled'}{size}; program: {program.name}; model: {models}"


@flattened("json")
def chat(
    run: RunOptions,
    program: ProgramOption = None,
) -> None:
    """Ask one question after the other; follow-up questions are understood.

    The knowledge base and the models stay open. "And her brother?" after a question about somebody is understood and
    shown as a whole question; the role `query` rewrites it. `/help` lists what else can be typed. Budgets are per
    question. Questions can also come through a pipe, one per line.

    Examples:

        triplecheck chat
        triplecheck chat --kb kbs/films --lm openai/gpt-4o-mini
        triplecheck chat -q < questions.txt
    """
    settings = run.settings(program=program)
    out = stdout()
    talk = Chat(settings, out)
    if not is_quiet():
        say(talk.heading(), to=out)
        out.print("Ask a question; /help lists commands, /quit leaves.")
    failed = False
    for line in _lines(out, settings):
        if line.casefold() in _LEAVING:
            break
        failed = not _did(talk, line) or failed
    if failed and not sys.stdin.isatty():
        import typer

        raise typer.Exit(1)


def _did(talk: Chat, line: str) -> bool:
    """Do what a line says. False if it failed: the error is printed and the conversation goes on."""
    from triplecheck.kg.errors import TriplecheckError, UserError

    try:
        if not line.startswith("/"):
            talk.ask(line)
            return True
        name, _, rest = line.partition(" ")
        if name not in COMMANDS:
            raise UserError(f"no command {name!r}; there are: {' '.join(COMMANDS)}")
        command: Callable[[str], None] = getattr(talk, name.removeprefix("/"))
        command(rest.strip())
    except TriplecheckError as error:
        complain(error)
        return False
    except KeyboardInterrupt:
        stderr().print("interrupted")
        return False
    return True


def _lines(out: Console, settings: Settings) -> Iterator[str]:
    """What is typed, line by line: edited and kept in a history if a person types, else as it is read."""
    if not sys.stdin.isatty():
        for line in sys.stdin:
            if text := line.strip():
                if not is_quiet():
                    out.print(f"\n{_PROMPT}{printable(text)}", style="bold", soft_wrap=True)
                yield text
        return
    with _history(settings):
        for number in itertools.count():
            try:
                text = input(_PROMPT if number == 0 else f"\n{_PROMPT}").strip()
            except KeyboardInterrupt:
                out.print()
                continue
            except EOFError:
                out.print()
                return
            if text:
                yield text


@contextlib.contextmanager
def _history(settings: Settings) -> Iterator[None]:
    """Line editing, completion of commands, and a history that is kept, where the system has them."""
    try:
        import readline
    except ImportError:  # Windows
        yield
        return
    from triplecheck.kg.bundled_files import cache_directory

    file = cache_directory(settings.cache) / "chat_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    readline.set_completer_delims("")
    readline.set_completer(lambda text, at: dict(enumerate(c for c in COMMANDS if c.startswith(text))).get(at))
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_history_length(_HISTORY)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch(mode=0o600)
            readline.write_history_file(file)
