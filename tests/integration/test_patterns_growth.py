"""Every regular expression takes time about linear in a hostile text."""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from types import ModuleType
from typing import Any

import pytest

_SMALL, _LARGE = 1_000, 4_000
"""Characters of the texts that are compared."""

_NOTICED = 0.005
"""Seconds at the larger size below which growth does not matter."""

_GROWTH = 8.0
"""The largest ratio of the times: 4 is linear, 16 quadratic."""


def seconds(work: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    work(text)
    return time.thread_time() - start


def grows(work: Callable[[str], object], unit: str, suffix: str = "", prefix: str = "") -> float | None:
    """The growth of the time with the text `prefix unit unit ... suffix` if it is above linear; None otherwise."""

    def text(size: int) -> str:
        return prefix + unit * max(1, size // len(unit)) + suffix

    for size in (20, 24, 120):
        if seconds(work, text(size)) > 0.05:  # exponential, or of a high degree
            return float("inf")
    if seconds(work, text(_SMALL)) < _NOTICED / 16:  # the quadratic would be quick enough
        return None
    if seconds(work, text(_LARGE)) < _NOTICED:
        return None
    small = min(seconds(work, text(_SMALL)) for _ in range(3))
    large = min(seconds(work, text(_LARGE)) for _ in range(3))
    return large / small if large > _NOTICED and large > _GROWTH * small else None


@dataclass(frozen=True)
class Pattern:
    place: str
    pattern: re.Pattern[Any]
    uses: frozenset[str]


def modules(package: str) -> Iterator[ModuleType]:
    found = importlib.import_module(f"triplecheck.{package}")
    yield found
    for info in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
        try:
            yield importlib.import_module(info.name)
        except ImportError:  # an optional library is missing
            continue


def held(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from (found for item in value.values() for found in held(item))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (found for item in value for found in held(item))


def of_module(module: ModuleType) -> Iterator[Pattern]:
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_re(node.func.value):
            found = inline(node, module)
            if found is not None:
                yield Pattern(f"{module.__name__}:{node.lineno}", found, frozenset({node.func.attr}))
    for name, value in vars(module).items():
        for pattern in held(value):
            known = uses.get(name, set()) if isinstance(value, re.Pattern) else set()
            yield Pattern(f"{module.__name__}.{name}", pattern, frozenset(known))


def is_re(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "re"


class _Guess(ast.NodeTransformer):
    """Writes `x` for the parts of a pattern that are only known in a call."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        try:
            evaluated(node.value, self._module)
        except Exception:  # noqa: BLE001 - any error means that the value is local
            return ast.Constant("x")
        return node


def evaluated(node: ast.expr, module: ModuleType) -> Any:
    expression = ast.fix_missing_locations(ast.Expression(node))
    return eval(compile(expression, module.__name__, "eval"), dict(vars(module)))  # noqa: S307


def inline(call: ast.Call, module: ModuleType) -> re.Pattern[Any] | None:
    """The pattern of a call such as `re.search(pattern, text)`; None if it is a parameter."""
    if call.func.attr not in {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}:  # type: ignore[attr-defined]
        return None
    flags = [item.value for item in call.keywords if item.arg == "flags"]
    after = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)  # type: ignore[attr-defined]
    flags += call.args[after : after + 1]
    source = call.args[0]
    if isinstance(source, ast.JoinedStr):
        source = ast.JoinedStr([_Guess(module).visit(part) for part in source.values])
    try:
        text = evaluated(source, module)
    except NameError:
        return None
    assert isinstance(text, str | bytes)
    return re.compile(text, evaluated(flags[0], module) if flags else 0)


def sample(parsed: Any) -> str:
    """A text that the parsed pattern matches, about."""
    text = ""
    for op, value in parsed:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            text += sample(value[2]) * max(1, value[0])
        elif name == "SUBPATTERN":
            text += sample(value[3])
        elif name == "ATOMIC_GROUP":
            text += sample(value)
        elif name == "BRANCH":
            text += sample(value[1][0])
        else:
            text += one(name, value)
    return text


def one(name: str, value: Any) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return "a" if chr(value) != "a" else "b"
    if name == "ANY":
        return "a"
    if name == "IN":
        single = re.compile(rf"{_unparsed(value)}")
        return next((c for c in " a1A.-_,:#*[]()<>|\\\"'\n\u0600\ud800" if single.fullmatch(c)), "a")
    return ""


def _unparsed(members: Any) -> str:
    categories = {"DIGIT": r"\d", "NOT_DIGIT": r"\D", "SPACE": r"\s", "NOT_SPACE": r"\S", "WORD": r"\w"}
    written = ""
    for op, value in members:
        match str(op):
            case "NEGATE":
                written += "^"
            case "LITERAL":
                written += re.escape(chr(value))
            case "RANGE":
                written += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
            case "CATEGORY":
                written += categories.get(str(value).removeprefix("CATEGORY_"), r"\W")
    return f"[{written}]"


def attacks(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str]]:
    """(prefix, unit): what comes before each repetition, and what is repeated in it; then units for any pattern."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from repeated(_parser.parse(source, pattern.flags & ~re.UNICODE & ~re.DEBUG), "")
    whole = sample(_parser.parse(source, pattern.flags & ~re.UNICODE))
    for length in range(1, min(len(whole), 40) + 1):
        yield "", whole[:length]
        yield "", whole[-length:]
    for unit in " \t\n\r#*_-`'\".,:;()[]{}<>|\\/=+?!a1Aé\u2013\u3000":
        yield "", unit
        yield "a", unit
        yield "1", unit
    yield from (("", unit) for unit in _UNITS)


_UNITS = (
    *("ab ", "Ab ", "a.", "1,", "1.", "1 -", "a-", "[[ ", "[[ ##", "[[ ## a", "<think>", "</think>", "```\n", "** "),
    *("\n#", "# ", "- ", '""', "\\|", "\\\\", " = ", " → ", "((", "(a", "[1", "a's ", "of the ", "x and ", "a, ", "{a"),
    *("1 million ", "<a", "http://", "Mr. ", "A. ", "A.B.", "\n\n ", " \n", "ns:m.", "() "),
)


def repeated(parsed: Any, before: str) -> Iterator[tuple[str, str]]:
    for op, value in parsed:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, inner = value
            if high is _constants.MAXREPEAT or high > 20:
                yield before, sample(inner) or "a"
            yield from repeated(inner, before)
            before += sample(inner) * max(1, low)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            inner = value[3] if name == "SUBPATTERN" else value
            yield from repeated(inner, before)
            before += sample(inner)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from repeated(branch, before)
            before += sample(value[1][0])
        elif name in ("ASSERT", "ASSERT_NOT"):
            yield from repeated(value[1], before)
        else:
            before += one(name, value)


def works(pattern: Pattern) -> Iterator[tuple[str, Callable[[str], object]]]:
    """The pattern applied in the ways that the code applies it; searching where that is not known."""
    encode = isinstance(pattern.pattern.pattern, bytes)
    known = pattern.uses & {"match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
    for use in known or {"search", "fullmatch"}:

        def work(text: str, use: str = use, compiled: Any = pattern.pattern) -> object:
            given: Any = text.encode("utf-8", "replace") if encode else text
            if use in ("sub", "subn"):
                return compiled.sub(b"" if encode else "", given)
            found = getattr(compiled, use)(given)
            return list(found) if use == "finditer" else found

        yield use, work


def patterns_of(package: str) -> list[Pattern]:
    by_source: dict[tuple[Any, int], Pattern] = {}
    for module in modules(package):
        for pattern in of_module(module):
            key = (pattern.pattern.pattern, pattern.pattern.flags)
            before = by_source.get(key, pattern)
            by_source[key] = Pattern(before.place, pattern.pattern, pattern.uses | before.uses)
    return list(by_source.values())


def slow(pattern: Pattern) -> str:
    """The first attack that takes more than linear time; empty if there is none."""
    units = list(dict.fromkeys(attacks(pattern.pattern)))
    for use, work in works(pattern):
        for (prefix, unit), suffix in itertools.product(units, ("", "\x00", "a", "\n\n")):
            growth = grows(work, unit, suffix, prefix)
            if growth is not None:
                text = f"{prefix!r} + {unit!r} * n + {suffix!r}"
                return f"{pattern.place}.{use}: {growth:.0f} times longer for a text 4 times as long: {text}"
    return ""


def test_patterns_are_found_compiled_and_inline() -> None:
    sources = {pattern.pattern.pattern for pattern in patterns_of("lms")}
    assert len(sources) > 50
    assert r"\[(\d+)\]" in sources, "inline"
    assert any("think" in source for source in sources), "compiled"


@pytest.mark.parametrize("source", [r"\s*x", r"(.*?)\s*;", r"<a>.*?</a>", r"(?:a|a)*b", r"(\d+,?)+$"])
def test_a_pattern_that_backtracks_is_noticed(source: str) -> None:
    assert slow(Pattern("here", re.compile(source), frozenset({"search"})))


@pytest.mark.parametrize("package", ["kg", "lms", "signatures", "programs", "optimize", "evals", "app"])
def test_a_pattern_takes_time_linear_in_a_hostile_text(package: str) -> None:
    assert list(filter(None, map(slow, patterns_of(package)))) == []
