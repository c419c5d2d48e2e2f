"""How the words of a command line are rewritten before they are parsed."""

from __future__ import annotations

import pytest

from triplecheck.app.command import spread, with_arguments


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("OUT -t a b", "OUT -t a -t b"),
        ("OUT -t a -t b", "OUT -t a -t b"),
        ("OUT -t a b --flag", "OUT -t a -t b --flag"),
        ("-t a b OUT", "-t a -t b OUT"),
        ("-t a OUT", "-t a OUT"),
        ("-t a", "-t a"),
        ("-t a b --flag OUT", "-t a -t b --flag OUT"),
        ("-t a b --value x", "-t a b --value x"),
        ("-t a b --value x OUT", "-t a -t b --value x OUT"),
        ("-t a b -- OUT", "-t a -t b -- OUT"),
        ("OUT -t a b -- -c", "OUT -t a -t b -- -c"),
        ("OUT -t", "OUT -t"),
        ("OUT -t --flag", "OUT -t --flag"),
        ("OUT -t a b -m c=d e=f", "OUT -t a -t b -m c=d -m e=f"),
        ("OUT -t - b", "OUT -t - -t b"),
        ("", ""),
    ],
)
def test_each_value_gets_its_flag_and_the_positional_argument_is_kept(words: str, expected: str) -> None:
    assert spread(words.split(), {"-t", "-m"}, {"-t", "-m", "--value"}) == expected.split()


def test_a_flag_for_the_argument_keeps_the_last_value_of_a_spreading_flag() -> None:
    assert spread("--out OUT -t a b".split(), {"-t"}, {"-t", "--out"}, ["--out"]) == "--out OUT -t a -t b".split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("KB TEXT", "KB TEXT"),
        ("TEXT --kb KB", "-- KB TEXT"),
        ("--kb=KB TEXT --limit 3", "--limit 3 -- KB TEXT"),
        ("--limit 3 --kb KB TEXT", "--limit 3 -- KB TEXT"),
        ("--json --kb KB -- -text", "--json -- KB -text"),
        ("KB TEXT --kb OTHER", "-- OTHER KB TEXT"),
        ("TEXT --kb", "TEXT --kb"),
    ],
)
def test_an_argument_may_be_given_as_a_flag(words: str, expected: str) -> None:
    assert with_arguments(words.split(), ["kb", "text"], ["kb"], {"--limit", "--kb"}) == expected.split()


def test_several_flags_stand_for_an_argument_with_several_values() -> None:
    assert with_arguments("--kb a --kb b".split(), ["kb"], ["kb"], {"--kb"}) == ["--", "a", "b"]
