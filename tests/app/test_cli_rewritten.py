"""How the words of a command line are rewritten before they are parsed."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import Run

from triplecheck.app.command import rewritten

VALUED = {"-t": True, "-m": True, "--value": False, "--kb": False, "--out": False}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("OUT -t a b", "-t a -t b -- OUT"),
        ("OUT -t a -t b", "-t a -t b -- OUT"),
        ("OUT -t a b --flag", "-t a -t b --flag -- OUT"),
        ("-t a b OUT", "-t a -t b -- OUT"),
        ("-t a OUT", "-t a -- OUT"),
        ("-t a", "-t a --"),
        ("-t a b --flag OUT", "-t a -t b --flag -- OUT"),
        ("-t a b --value x", "-t a --value x -- b"),
        ("-t a b --value x OUT", "-t a -t b --value x -- OUT"),
        ("-t a b -- OUT", "-t a -t b -- OUT"),
        ("OUT -t a b -- -c", "-t a -t b -- OUT -c"),
        ("-t=a OUT -m c=d e=f", "-t a -m c=d -m e=f -- OUT"),
        ("OUT -t a b -m c=d e=f", "-t a -t b -m c=d -m e=f -- OUT"),
        ("OUT -t - b", "-t - -t b -- OUT"),
        ("-t a b --out OUT", "-t a -t b -- OUT"),
        ("OUT -t", "OUT -t"),
        ("", "--"),
    ],
)
def test_each_value_gets_its_flag_and_the_argument_is_kept(words: str, expected: str) -> None:
    assert rewritten(words.split(), ["out"], ["out"], VALUED) == expected.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("KB TEXT", "-- KB TEXT"),
        ("TEXT --kb KB", "-- KB TEXT"),
        ("-v TEXT --kb KB", "-v -- KB TEXT"),
        ("--kb=KB TEXT --value 3", "--value 3 -- KB TEXT"),
        ("--value= --kb KB TEXT", "--value | -- KB TEXT"),
        ("--json --kb KB -- -text", "--json -- KB -text"),
        ("KB TEXT --kb OTHER", "-- OTHER KB TEXT"),
        ("TEXT --kb", "TEXT --kb"),
        ("--kb a --kb b", "-- a b"),
    ],
)
def test_an_argument_may_be_given_as_a_flag(words: str, expected: str) -> None:
    wanted = [word if word != "|" else "" for word in expected.split()]
    assert rewritten(words.split(), ["kb", "text"], ["kb"], VALUED) == wanted


def test_words_behind_a_flag_that_is_counted_are_arguments(run: Run, kb: Path) -> None:
    assert "Paul Hindemith" in run("kb", "search", "-v", "Paul Hindemit", "--kb", kb).stdout
