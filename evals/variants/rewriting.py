"""Harder wordings: the name of a topic misspelt, replaced, shortened or turned round. The graph stays as it is."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from triplecheck.evals.asked import Asked
from triplecheck.evals.variants.typos import misspell
from triplecheck.kg import Graph, normalize

Rewrite = tuple[str, dict[str, Any]]
"""How the name reads now, and what was done to it."""
Rewriter = Callable[[Asked, Graph, random.Random], Rewrite | None]
"""None where there is nothing to be done to a name."""

_WORD = re.compile(r"\S+")


def typos(count: int) -> Rewriter:
    """A rewriter that makes this many typing errors; none where a name has no room for so many."""

    def rewrite(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
        made = misspell(asked.mention, count, rng)
        if len(made.edits) < count:
            return None
        return made.text, {"edits": [f"{e.kind} at {e.at}: {e.before!r} to {e.after!r}" for e in made.edits]}

    return rewrite


def alias(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
    """Another name that the graph knows the topic by."""
    written = normalize(asked.mention)
    entities = [graph.entity(node) for node in sorted(asked.nodes)]
    names = {name for entity in entities for name in (entity.label, *entity.aliases)}
    others = sorted(name for name in names if normalize(name) not in ("", written))
    return (rng.choice(others), {"instead of": asked.mention}) if others else None


def partial(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
    """A name of several words without its first or last."""
    words = _WORD.findall(asked.mention)
    if len(words) < 2:
        return None
    dropped = rng.choice((0, len(words) - 1))
    return " ".join(word for at, word in enumerate(words) if at != dropped), {"left out": words[dropped]}


def word_order(asked: Asked, graph: Graph, rng: random.Random) -> Rewrite | None:
    """A name of several words in another order."""
    words = _WORD.findall(asked.mention)
    if len({normalize(word) for word in words}) < 2:
        return None
    turned = words
    while [normalize(word) for word in turned] == [normalize(word) for word in words]:
        turned = rng.sample(words, len(words))
    return " ".join(turned), {"instead of": asked.mention}


REWRITERS: dict[str, tuple[str, Rewriter]] = {
    "typo1": ("one typing error in the name of a topic", typos(1)),
    "typo2": ("two typing errors in the name of a topic", typos(2)),
    "alias": ("a topic by another of its names", alias),
    "partial": ("a topic's name without its first or last word", partial),
    "word-order": ("the words of a topic's name in another order", word_order),
}
"""By the variant's name: what it does, and the function that does it."""
