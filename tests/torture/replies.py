"""Hostile replies to every step of every program.

A reply is a real one that is damaged, is written by a grammar of what models write, or is drawn by hypothesis. Whatever
the model writes: only our own errors, no call beyond the budget, evidence that is in the graph, and nothing grounded or
proved without evidence.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from torture.attack import Attack, Case, Failure
from torture.mutate import TOKENS, VALUES, changed, mutated

CALLS = 60
"""Model calls of a question."""
_FIELD = re.compile(r"\[\[ ## (\w+) ## \]\]\n(.*?)(?=\n\n\[\[ ## |\Z)", re.DOTALL)
_QUESTIONS = (
    "What was the nationality of Bernhard Heiden's teacher?",
    "Who studied with Paul Hindemith?",
    "How many instruments does Paul Hindemith play?",
    "Is Frankfurt larger than Hanau?",
    "Was Lukas Foss taught by Paul Hindemith?",
    "When was Bernhard Heiden born?",
    "Which composer was born in the city with the largest population?",
    "Where does Michael Jordan work?",
    "Who is the king of Atlantis?",
    "Ünïcode \u202e?",
)
_PIECES = (
    "1", "2, 3", "[1]", "[1, 99999]", "-1", "0", "1e9", "1-999999999", "none", "None", "null", "yes", "no", "True",
    "count", "sum", "intersection", "max", "min", "comparison", "operation", "unknown", "n/a", "German", "nan", "inf",
    "Paul Hindemith",
    "Hindemith → nationality → German", "?x | student of | Paul Hindemith", "Paul Hindemith | nationality | ?x",
    "?a | ?b | ?c", "- a\n- b", "1. a\n2. b", "| a | b |\n|---|---|\n| 1 | 2 |", '{"answers": ["German"]}', '["a", 1]',
    "```json\n{}\n```", "<think>", "</think>", "**answer**: German", "[[ ## completed ## ]]", "∞",
    "[[ ## answers ## ]]",
    "(1) -- [2] -- {3}", "1990-13-45", "12 million", "3.14.15", "'", '"', "\\", "\n\n\n", " " * 2000,
    "a" * 5000, "# " * 900,
    "[" * 2000, "\x1b[31m", "\0", "\ud83d", "\u202e", "{{ x }}", "%s %d", "German; French; Polish", "German (fact 1)",
)  # fmt: skip


class Hostile:
    """An engine whose replies are damaged. It counts them."""

    fingerprint = "hostile"

    def __init__(self) -> None:
        from triplecheck.lms.extractive.engine import ExtractiveEngine

        self._honest = ExtractiveEngine()
        self.write: Callable[[str], str] = lambda text: text
        self.replies = 0

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import InvalidRequestError

        from triplecheck.lms.engines import messages_of, reply

        self.replies += 1
        try:
            right = "".join(part.text for part in self._honest.complete(request).message.parts)
        except InvalidRequestError:  # the prompt of another adapter, or one with damaged names
            right = messages_of(request)[-1]["content"][-300:]
        return reply(request, self.write(right), prompt_tokens=10, completion_tokens=10)

    def __copy__(self) -> Hostile:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Hostile:
        return self


def damaged(right: str, chance: random.Random) -> str:
    """A reply instead of the right one."""
    how = chance.random()
    if how < 0.25:
        return right
    if how < 0.5:
        return mutated(right.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "surrogateescape")
    fields = _FIELD.findall(right) or [("answers", right)]
    if how < 0.85:
        return "\n\n".join(
            f"[[ ## {name} ## ]]\n{_value(was, chance)}" for name, was in fields if chance.random() < 0.95
        )
    if how < 0.93:
        return json.dumps(changed(dict(fields), chance))
    return "".join(chance.choice(_PIECES) + chance.choice((" ", "\n", "")) for _ in range(chance.randrange(30)))


def _value(was: str, chance: random.Random) -> str:
    how = chance.random()
    if how < 0.3:
        return was
    if how < 0.5:
        return was + chance.choice(("\n", " ", ", ")) + chance.choice(_PIECES)
    if how < 0.6:
        return chance.choice(TOKENS).decode("utf-8", "surrogateescape")
    if how < 0.7:
        return str(chance.choice(VALUES))
    return chance.choice(("\n", ", ", " ", "; ")).join(chance.choice(_PIECES) for _ in range(chance.choice((1, 2, 12))))


def check(graph: Any, found: Any, ledger: Any) -> None:
    """Check what must hold for every prediction.

    Raises:
        Failure: something does not hold.
    """
    from triplecheck.programs import to_json
    from triplecheck.programs.outcome import replay

    missing = replay(graph, found.evidence)
    if missing:
        raise Failure(f"{found.program}: evidence that is not in the graph ({found.verdict}): {missing[:2]}")
    if (found.grounded or found.verdict in ("proved", "supported")) and not found.evidence:
        raise Failure(f"{found.program}: {found.verdict}, grounded: {found.grounded}, without evidence")
    if any(graph.find(answer["id"]) is None and not _is_value(graph, answer) for answer in found.answers):
        raise Failure(f"{found.program}: an answer that is no node of the graph")
    if found.abstained and found.answer:
        raise Failure(f"{found.program}: abstains and answers {found.answer[:50]!r}")
    if found.confidence is not None and not 0 <= found.confidence <= 1:
        raise Failure(f"{found.program}: a confidence of {found.confidence}")
    if ledger.usage().calls > CALLS:
        raise Failure(f"{found.program}: {ledger.usage().calls} calls with a budget of {CALLS}")
    json.dumps(to_json(found), ensure_ascii=False, allow_nan=False).encode("utf-8")
    shown = io.StringIO()
    _show(found, shown)
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", shown.getvalue()):
        raise Failure(f"{found.program}: control characters reach the terminal")


def check_files(answer: Any) -> None:
    """Check the files of a proof: well-formed, and no text ends the script of the page.

    Raises:
        Failure: something does not hold.
    """
    from xml.etree import ElementTree

    from triplecheck.app.proof_files import graphml, page, svg

    for make in (svg, graphml):
        ElementTree.fromstring(make(answer))
    text = page(answer).decode("utf-8")
    begin = text.index('<script type="application/json"')
    json.loads(text[text.index(">", begin) + 1 : text.index("</script>", begin)])


def _is_value(graph: Any, answer: dict[str, str]) -> bool:
    return any(graph.node_id(node) == answer["id"] for node in range(graph.num_entities, graph.num_nodes))


def _show(found: Any, out: io.StringIO) -> None:
    from rich.console import Console

    from triplecheck.app.ask import show_answer

    show_answer(found, Console(file=out, width=200, no_color=True), 1.0)


@contextlib.contextmanager
def cases(folder: Path) -> Iterator[Case]:
    """Questions to all programs, one after another."""
    import dspy
    from text_parts import build_text_world

    from triplecheck.app.serve.service import Steps
    from triplecheck.kg import TriplecheckError
    from triplecheck.lms import Budget, register_engine, session
    from triplecheck.programs import Sources, resolve_program
    from triplecheck.programs.registry import program_names

    dspy.configure_cache(enable_disk_cache=False, enable_memory_cache=False)
    engine = Hostile()
    register_engine("hostile", engine)
    sources = Sources.of(build_text_world(folder, embedded=True))
    programs = []
    for name in program_names():
        before = engine.replies
        with contextlib.suppress(TriplecheckError), session("hostile"):
            program = resolve_program(name)(sources)
            program(_QUESTIONS[0])
        if engine.replies > before:
            programs.append(program)
    if len(programs) < 12:
        raise Failure(f"only {[program.name for program in programs]} run")
    programs += [resolve_program("kerag")(sources, judge_proof=True), resolve_program("kerag")(sources, samples=3)]
    adapters = (None, None, None, dspy.ChatAdapter(), dspy.JSONAdapter(), dspy.XMLAdapter())

    def ask(program: Any, question: str, adapter: Any) -> None:
        settings = {} if adapter is None else {"adapter": adapter}
        steps = Steps()
        with dspy.context(**settings), session("hostile", Budget(calls=CALLS)) as ledger:
            try:
                found = program(question, on_step=steps.note)
            except TriplecheckError as error:
                str(error).encode("utf-8")
                if ledger.usage().calls > CALLS:
                    raise Failure(f"{ledger.usage().calls} calls with a budget of {CALLS}") from error
                return
            check_files(steps.answer("base", sources, found, picture=True))
        check(sources.graph, found, ledger)

    def case(number: int, chance: random.Random) -> int:
        before = engine.replies
        program, question = programs[number % len(programs)], chance.choice(_QUESTIONS)
        if number % 40 == 39:
            _by_hypothesis(engine, number, lambda: ask(program, question, None))
        else:
            engine.write = lambda right: damaged(right, chance)
            ask(program, question, chance.choice(adapters))
        return engine.replies - before

    yield case


def _by_hypothesis(engine: Hostile, seed_of_case: int, work: Callable[[], None]) -> None:
    """Ask with replies that hypothesis draws, and shrinks if they fail."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis import strategies as st

    pieces = st.one_of(st.sampled_from(_PIECES), st.text(max_size=30), st.integers().map(str), st.floats().map(str))
    values = st.lists(pieces, max_size=6).map("\n".join)

    @seed(seed_of_case)
    @settings(
        max_examples=10, database=None, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate]
    )
    @given(st.lists(values, min_size=1, max_size=8))
    def drawn(replies: list[str]) -> None:
        left = list(replies)

        def write(right: str) -> str:
            fields = _FIELD.findall(right) or [("answers", "")]
            return "\n\n".join(f"[[ ## {name} ## ]]\n{left[at % len(left)]}" for at, (name, _) in enumerate(fields))

        engine.write = write
        work()

    drawn()


REPLIES = Attack("replies", "hostile replies of a model", 5_000, 30.0, cases)
