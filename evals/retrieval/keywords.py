"""Words of a document that tell it from others: what a made question says of its text."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

from triplecheck.kg.skb import NodeDocuments

_RARE = 0.01  # share of the documents that have a word which is asked for, at most
_USUAL = 0.05  # of one that stands beside a rare one
_TOKEN = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*|\d[\w.]*|[^\s\w]|\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_ONE_WORD = 1 / 3  # of the questions ask for one word where two would be there
_LEAST_LETTERS = 4
_SHARED_STEM = 5  # letters: words that begin with the same ones say the same
# Words that say how something is said. Adverbs are told by their ending.
_EMPTY = frozenset(
    """able about above according across actually after again against allow allowed allows almost along also although
    always among amount another around available based because become been before behind being below best better
    between beyond both case cases certain common commonly complete completely contain contained containing contains
    could created current default describe described describes detail details different does doing done down during
    each easy either else enough especially etc even every example examples existing extra feature features file files
    find first following full further general generic give given gives good great have help helpful here high however
    important include included includes including inside instead into just keep kind know known large later least less
    like likely list little long look made main mainly make makes making many might more most much multiple must name
    named near need needed needs never next none note nothing number often once only other others otherwise over
    package packages part particular perhaps please possible powerful primarily program programs project provide
    provided provides providing purpose quite rather really recommended related release require required requires same
    several should similar simple simply since small some something special specific still such support supported
    supports than that their them then there therefore these they thing things this those though through thus together
    type under until upon used useful user users uses using usual various version versions very want wants well were
    what when where whether which while whole whose will with within without would your yours""".split()
)


def keywords(documents: NodeDocuments, row: int, used: str, lot: random.Random) -> str:
    """A word or two adjacent ones of a text that few documents have; empty where there are none.

    They come from the first sentence, or from what the text repeats: what a text is about stands there.
    None is in the question or in the node's name, in another form either.

    Args:
        documents: of the knowledge base.
        row: which of them.
        used: what the question says already.
        lot: decides which.
    """
    title, _, text = documents.text(row).partition("\n")
    taken = {word.lower() for word in re.findall(r"[^\W\d_]+", f"{used} {title}")}
    name = "".join(character for character in title.lower() if character.isalnum())
    said = [word for run in _runs(text) for word in run]
    first = {word for run in _runs(_SENTENCE.split(text.strip(), maxsplit=1)[0]) for word in run}
    telling = {word for word in said if word in first or said.count(word) > 1}

    def free(word: str) -> bool:
        return word.replace("-", "") not in name and all(not _alike(word, other) for other in taken)

    beside = {pair for run in _runs(text) for pair in itertools.pairwise(run) if pair[0] != pair[1]}
    pairs = {pair for pair in beside if telling.issuperset(pair)}
    offered = sorted({(word,) for word in telling} | pairs)
    offered = [words for words in offered if all(map(free, words))]
    lot.shuffle(offered)
    offered.sort(key=lambda words: -len(words))  # two say more than one
    if lot.random() < _ONE_WORD:
        offered = [words for words in offered if len(words) == 1]
    return next((" ".join(words) for words in offered if _tells(documents, words)), "")


def pattern(words: str) -> str:
    """A regular expression that finds these words one after the other, however they are spaced or hyphenated."""
    return r"\b" + r"[\s-]+".join(map(re.escape, re.split(r"[\s-]+", words))) + r"\b"


def _runs(text: str) -> Iterator[list[str]]:
    """Content words that stand side by side, in lower case."""
    run: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.lower()
        # What is written in capitals inside is a name of its own: an acronym, a product.
        content = len(word) >= _LEAST_LETTERS and token[1:].islower() and word not in _EMPTY and word[-2:] != "ly"
        if content and word[0].isalpha():
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _tells(documents: NodeDocuments, words: tuple[str, ...]) -> bool:
    shares = sorted(_share(documents, word) for word in words)
    return shares[0] <= _RARE and shares[-1] <= _USUAL


def _share(documents: NodeDocuments, word: str) -> float:
    """Share of the documents that have a word, as far as that matters; one document alone never is too many."""
    most = max(1, int(_USUAL * len(documents)))
    count = len(documents.store.best_rows(word, most + 1)[0])
    return 0.0 if count <= 1 else count / len(documents)


def _alike(one: str, other: str) -> bool:
    return one == other or (len(other) >= _SHARED_STEM and one[:_SHARED_STEM] == other[:_SHARED_STEM])
