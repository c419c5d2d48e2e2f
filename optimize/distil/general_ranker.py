"""Training of the general ranker of relation paths, the one in the package, from public questions with relation paths.

The questions have no graph beside them: all relations of their vocabulary are wrong answers. What the topic's mention
replaces is found by the rarest run of words. Questions made from templates teach longer paths, which few of the
questions have. The ranker in the package is trained on `LICENSED` alone, whose licences allow to distribute it.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import math
import random
import time
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from triplecheck.kg import UserError
from triplecheck.kg.encode import Encoder, load_encoder
from triplecheck.kg.progress import ProgressCallback, no_progress
from triplecheck.kg.ranker import GENERAL, LONGEST, OWN_TOPIC, PathRanker, load_ranker, save_ranker
from triplecheck.kg.values import parse_json
from triplecheck.language.parse import stop_words
from triplecheck.language.pipeline import ENGLISH
from triplecheck.language.question import read_question
from triplecheck.language.relevance import PathRelevance
from triplecheck.language.text import find_span, words_of
from triplecheck.optimize.distil.path_ranker import HopNumbers, PathQuestion, Training, check_installed, train
from triplecheck.signatures.notation import BACKWARD, FORWARD, WrittenHop, split_note

LICENSED = {
    "simplequestions-wikidata train": "SimpleQuestions on Wikidata (CC BY 3.0)",
    "simplequestions-freebase valid": "SimpleQuestions on Freebase (CC BY 3.0)",
    "qald10 train": "QALD-10 (MIT)",
}
"""Sources whose licences allow to distribute what was trained on them, by their name in the data. The terms of others
have not been looked up."""

_QUESTIONS, _RELATIONS = "questions_train.jsonl.gz", "relations.tsv.gz"
_MOST_ALIKE = 400  # questions of one path: rare relations are not drowned
_HELD_OUT = 8  # of 256 questions
_RARE = 6.0  # log of the words per occurrence from which a word belongs to a mention
_OPENINGS = ("what is", "who is", "which is", "name", "tell me", "who are", "what are", "what was", "who was", "")
_FORWARD = ("the {0} of {1}", "{1} 's {0}", "{0} of {1}")
_BACKWARD = (
    "the things whose {0} is {1}",
    "what has {1} as {0}",
    "those with {0} {1}",
    "the ones that have {1} as {0}",
)
_CANDIDATES = 60


@dataclass(frozen=True)
class GeneralOptions:
    """Settings of `train_general`.

    Attributes:
        sources: of the questions to train on, as the data names them.
        templates: number of questions made from templates.
        leave_out: vocabularies not trained on, to measure on them.
        limit: most questions to train on, drawn at random; None: all.
        measured: most held-out questions of each vocabulary to measure on.
        training: the settings of the training itself.
    """

    sources: Collection[str] = tuple(LICENSED)
    templates: int = 1_200
    leave_out: Collection[str] = ()
    limit: int | None = None
    measured: int = 300
    training: Training = field(default_factory=Training)


@dataclass(frozen=True)
class _Asked:
    """A question of the data: its words, the path of its one topic, and where the topic is mentioned."""

    id: str
    words: tuple[str, ...]
    mention: tuple[int, int]
    source: str
    question: PathQuestion


def train_general(
    folder: Path,
    out: Path,
    options: GeneralOptions = GeneralOptions(),
    without: Collection[str] = (),
    progress: ProgressCallback = no_progress,
) -> Mapping[str, Any]:
    """Train a general ranker and write it; what is known about it, with `held_out` figures by vocabulary.

    On held-out questions, of all sources, the right path is ranked among others of its vocabulary: the share for which
    it is first, as the rules score paths (`hand`), with the score of the ranker in the package added (`package`), and
    with that of the new one (`new`).

    Args:
        folder: with `questions_train.jsonl.gz` (a line has `id`, `question`, `vocabulary`, `source`, `topics`, names or
            identifiers, and for each topic a path in `paths`: pairs of the id of a relation and `forward` or
            `backward`) and `relations.tsv.gz` (`vocabulary`, `id`, `label`, `aliases` separated by `|`).
        out: the file.
        without: questions that are left out, to measure on them elsewhere.

    Raises:
        UserError: a file is missing, a source or vocabulary is unknown, or too few questions are left.
        MissingExtraError: torch is not installed.
    """
    check_installed()
    began, seed = time.monotonic(), options.training.seed
    numbers, wordings = _vocabularies(folder / _RELATIONS)
    asked = _read(folder / _QUESTIONS, numbers, without)
    known = {one.source for one in asked}
    unknown = [*(set(options.sources) - known), *(set(options.leave_out) - wordings.keys())]
    if unknown:
        there = ", ".join(sorted(known | wordings.keys()))
        raise UserError(f"{folder}: has no questions of {min(unknown)!r}; it has {there}")
    held_out = [one for one in asked if hashlib.sha1(one.id.encode(), usedforsecurity=False).digest()[0] < _HELD_OUT]
    aside = {one.id for one in held_out}
    taught = [one.question for one in asked if one.source in options.sources and one.id not in aside]
    taught += _made_up(wordings, options.templates, random.Random(seed))
    taught = [one for one in taught if one.vocabulary not in options.leave_out]
    drawn = _evenly(random.Random(seed).sample(taught, len(taught)))[: options.limit]
    encoder = load_encoder()
    weights = train(drawn, wordings, encoder, options.training, progress)
    sources = [LICENSED.get(source, source) for source in options.sources]
    if options.templates:
        sources.append(f"{options.templates:,} template questions of this project")
    about: dict[str, Any] = {
        "sources": sources,
        "questions": len(drawn),
        "seed": seed,
        **({"left_out": sorted(options.leave_out)} if options.leave_out else {}),
    }
    general = load_ranker(GENERAL)
    rankers: dict[str, PathRanker | None] = {"hand": None}
    if general.encoder == encoder.fingerprint:
        rankers["package"] = general
    rankers["new"] = PathRanker(weights, encoder.fingerprint, "", {})
    about["held_out"] = _measure(held_out, wordings, rankers, encoder, options.measured, progress)
    about["seconds"] = round(time.monotonic() - began, 1)
    out.parent.mkdir(parents=True, exist_ok=True)
    save_ranker(weights, encoder.fingerprint, about, out)
    return about


def _lines(file: Path) -> Iterator[str]:
    try:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from lines
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UserError(f"{file}: cannot be read ({error})") from error


def _vocabularies(file: Path) -> tuple[dict[tuple[str, str], int], dict[str, list[list[str]]]]:
    """The number of each relation in its vocabulary, and by vocabulary the wordings of each, label first."""
    numbers: dict[tuple[str, str], int] = {}
    wordings: dict[str, list[list[str]]] = {}
    for number, line in enumerate(itertools.islice(_lines(file), 1, None), 2):
        cells = line.rstrip("\n").split("\t")
        if len(cells) != 4:
            raise UserError(f"{file}, line {number}: {len(cells)} columns instead of vocabulary, id, label and aliases")
        vocabulary, relation, label, aliases = cells
        several = wordings.setdefault(vocabulary, [])
        numbers[vocabulary, relation] = len(several)
        several.append([label.strip(), *(alias.strip() for alias in aliases.split("|") if alias.strip())])
    return numbers, wordings


def _read(file: Path, numbers: Mapping[tuple[str, str], int], without: Collection[str]) -> list[_Asked]:
    """The questions with one topic and a path of at most `LONGEST` hops, the topic's mention masked."""
    excluded = {" ".join(words_of(text)) for text in without}
    rows = []
    for number, line in enumerate(_lines(file), 1):
        try:
            rows.append(_checked(parse_json(line), numbers))
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise UserError(f"{file}, line {number}: is no question with relation paths ({error!r})") from error
    texts = [words_of(row["question"]) for row in rows]
    counts = Counter(word for words in texts for word in set(words))
    rarity = {word: math.log(len(rows) / count) for word, count in counts.items()}
    asked = []
    for row, words in zip(rows, texts, strict=True):
        if row["path"] is None or not words or " ".join(words) in excluded:
            continue
        span = _named(words, row["topics"][0]) or _mention(words, rarity)
        masked = " ".join([*words[: span[0]], OWN_TOPIC, *words[span[1] :]])
        question = PathQuestion(masked, row["vocabulary"], (row["path"],))
        asked.append(_Asked(row["id"], tuple(words), span, row["source"], question))
    return asked


def _checked(row: dict[str, Any], numbers: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """A row of the questions with its `path` in numbers; None unless it has one path of at most `LONGEST` hops."""
    for name in ("id", "question", "vocabulary", "source"):
        row[name].encode("utf-8")
    path = None
    if len(row["paths"]) == 1 and 1 <= len(row["paths"][0]) <= LONGEST:
        path = tuple((numbers[row["vocabulary"], relation], way == "backward") for relation, way in row["paths"][0])
        row["topics"][0].encode("utf-8")
    return {**row, "path": path}


def _named(words: Sequence[str], topic: str) -> tuple[int, int] | None:
    """Where the topic is mentioned by its name; its name may be an identifier."""
    return find_span(words, words_of(split_note(topic)[0]), stop_words(ENGLISH))


def _mention(words: Sequence[str], rarity: Mapping[str, float]) -> tuple[int, int]:
    """Where the topic is mentioned: the run of words that is rarest, or the rarest word."""
    best, span = 0.0, None
    total, start = 0.0, 0
    for at, word in enumerate(words):
        if total <= 0:
            total, start = 0.0, at
        total += rarity[word] - _RARE
        if total > best:
            best, span = total, (start, at + 1)
    if span is not None or not words:
        return span or (0, 0)
    rarest = max(range(len(words)), key=lambda at: rarity[words[at]])
    return rarest, rarest + 1


def _made_up(
    vocabularies: Mapping[str, Sequence[Sequence[str]]], count: int, chance: random.Random
) -> list[PathQuestion]:
    """Questions of two and three hops from templates, three quarters of the hops forwards."""
    made = []
    for _ in range(count):
        vocabulary = chance.choice(sorted(vocabularies))
        wordings, phrase = vocabularies[vocabulary], OWN_TOPIC
        path = []
        for _ in range(chance.choice((2, 2, 3))):
            relation, backward = chance.randrange(len(wordings)), chance.random() >= 0.75
            name = chance.choice(wordings[relation]) if chance.random() < 0.4 else wordings[relation][0]
            template = chance.choice(_BACKWARD if backward else _FORWARD)
            phrase = template.format(" ".join(words_of(name)), phrase)
            path.append((relation, backward))
        made.append(PathQuestion(f"{chance.choice(_OPENINGS)} {phrase}".strip(), vocabulary, (tuple(path),)))
    return made


def _evenly(questions: Sequence[PathQuestion]) -> list[PathQuestion]:
    """At most `_MOST_ALIKE` questions of each path."""
    seen: Counter[tuple[str, tuple[HopNumbers, ...]]] = Counter()
    kept = []
    for question in questions:
        seen[question.vocabulary, question.paths] += 1
        if seen[question.vocabulary, question.paths] <= _MOST_ALIKE:
            kept.append(question)
    return kept


def _measure(
    held_out: Sequence[_Asked],
    vocabularies: Mapping[str, Sequence[Sequence[str]]],
    rankers: Mapping[str, PathRanker | None],
    encoder: Encoder,
    most: int,
    progress: ProgressCallback,
) -> dict[str, dict[str, float]]:
    """By vocabulary, the number of questions, and by ranker the share whose right path is first."""
    chance = random.Random(0)
    result = {}
    for vocabulary, wordings in vocabularies.items():
        own = [one for one in held_out if one.question.vocabulary == vocabulary]
        own = chance.sample(own, min(len(own), most))
        first: Counter[str] = Counter()
        for done, one in enumerate(own):
            progress(f"measuring {vocabulary}", done, len(own))
            (right,) = one.question.paths
            paths = _candidates(right, len(wordings), chance)
            hops = [tuple(_written(hop, wordings) for hop in path) for path in paths]
            topic = " ".join(one.words[slice(*one.mention)])
            question = read_question(" ".join(one.words), [topic])
            for name, ranker in rankers.items():
                scores = PathRelevance(question, encoder.encode, ranker).paths(hops)
                first[name] += bool(scores[0] > scores[1:].max())
        shares = {name: round(first[name] / max(len(own), 1), 4) for name in rankers}
        result[vocabulary] = {"questions": len(own), **shares}
    return result


def _written(hop: tuple[int, bool], wordings: Sequence[Sequence[str]]) -> WrittenHop:
    relation, backward = hop
    return WrittenHop(wordings[relation][0], BACKWARD if backward else FORWARD)


def _candidates(right: HopNumbers, count: int, chance: random.Random) -> list[HopNumbers]:
    """The right path, then wrong ones: turned, a hop more or fewer, hops replaced, and single hops."""

    def any_hop() -> tuple[int, bool]:
        return chance.randrange(count), chance.random() < 0.5

    turned = tuple((relation, not back) for relation, back in right)
    made = [turned, right[::-1], right[:1], right[1:]]
    made += [(any_hop(),) for _ in range(_CANDIDATES)]
    for _ in range(6):
        made += [(*right, any_hop()), (any_hop(), *right)]
        made += [(*right[:at], any_hop(), *right[at + 1 :]) for at in range(len(right))]
    wrong = dict.fromkeys(path for path in made if 1 <= len(path) <= LONGEST and path != right)
    return [right, *wrong]
