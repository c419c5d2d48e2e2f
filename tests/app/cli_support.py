"""A small graph, a question about it, and scripted replies of a model."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from typing import Any

from typer.testing import Result

TRIPLES = """\
Bernhard Heiden\tstudent of\tPaul Hindemith
Paul Hindemith\tnationality\tGermany
Bernhard Heiden\tborn in\tFrankfurt
Paul Hindemith\tborn in\tHanau
Arnold Cooke\tstudent of\tPaul Hindemith
"""
DOCUMENTS = '{"id": "d1", "node": "Paul Hindemith", "title": "Hindemith", "text": "A composer and violist."}\n'
QUESTION = "What was the nationality of Bernhard Heiden's teacher?"

Run = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]


def ok(result: Result) -> Result:
    """The result of a command that must succeed."""
    assert result.exit_code == 0, result.output
    return result


def refused(result: Result, *said: str) -> Result:
    """The result of a command that must find a mistake in the request, and say something about it."""
    assert result.exit_code == 2, result.output
    assert [text for text in said if text not in result.stderr] == [], result.stderr
    assert "Traceback" not in result.output
    return result


def fields(**values: str) -> str:
    """A reply in DSPy's chat format."""
    return "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()) + "\n\n[[ ## completed ## ]]"


def _answer(request: Any) -> str:
    """Read the number of the fact on nationality off the prompt."""
    found = re.search(r"\[(\d+)\] Paul Hindemith → nationality → Germany", request.messages[-1].text)
    assert found is not None, request.messages[-1].text
    return fields(reasoning="as the fact says", cited=found[1], operation="none", answers="Germany")


READS_THE_GRAPH = [
    fields(topics="Bernhard Heiden", domain="unknown"),
    fields(keep="\n".join(map(str, range(1, 10)))),
    fields(keep="\n".join(map(str, range(1, 10)))),
    _answer,
]
"""Replies that lead KERAG from `QUESTION` to Germany, in four calls."""
