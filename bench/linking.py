"""Linking exact and misspelt names in questions, compared with spaCy's PhraseMatcher and rapidfuzz over all names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench import synthetic
from bench.measurement import Measurement, Options
from bench.timing import each, interleaved, percentile
from triplecheck.kg import columnar_build, names
from triplecheck.kg.columnar import ColumnarGraph
from triplecheck.kg.linking import GraphLinker
from triplecheck.kg.names import NameIndex, normalize
from triplecheck.language.pipeline import read_text

_QUESTION = "which films did {} appear in before they moved to the city?"
_ASKED, _RAPIDFUZZ_ASKED = 200, 30
_SPACY_NAMES = 100_000
_BEST = 5


@dataclass(frozen=True)
class _Named:
    """A graph with names, a linker that tolerates typing errors, and one that does not."""

    labels: list[str]
    tolerant: GraphLinker
    exact: GraphLinker
    trigrams: names.TrigramIndex

    @classmethod
    def build(cls, count: int, work: Path) -> _Named:
        labels = synthetic.names(count)
        numbered = synthetic.numbered(synthetic.Size(2 * count, count, 18))
        numbered.labels = pa.array(labels)
        folder = work / f"names-{count}"
        folder.mkdir()
        columnar_build.write_graph(numbered, folder)
        graph = ColumnarGraph(folder)
        names.build_names(graph, folder)
        index = NameIndex(folder)
        trigrams = names.TrigramIndex(folder, index)
        return cls(labels, GraphLinker(graph, index, trigrams), GraphLinker(graph, index), trigrams)


def _link(linker: GraphLinker, question: str) -> list[str]:
    """Normalised names of the first candidates of each mention in a question."""
    found = []
    for mention in linker.mentions(read_text(question)):
        for form in mention.forms[:_BEST]:
            found += [normalize(c.label) for c in linker.candidates(form, limit=_BEST)]
    return found


def linking(options: Options) -> Iterator[Measurement]:
    """Time to link a question, and recall of misspelt names."""
    count = 100_000 if options.quick else 1_000_000
    named = _Named.build(count, options.work)
    rng = np.random.default_rng(11)
    asked = [named.labels[i] for i in rng.choice(count, _ASKED, replace=False).tolist()]
    of = f"{count:,} names"
    _link(named.tolerant, _QUESTION.format(asked[0]))

    yield _latency(f"a question with an exact name, {of}", lambda q: _link(named.exact, q), asked, 5)
    yield _latency(f"the same, typing errors tolerated, {of}", lambda q: _link(named.tolerant, q), asked, 25)
    for edits in (1, 2):
        misspelt = [synthetic.misspell(name, edits, rng) for name in asked]
        label = f"{edits} edit{'s' * (edits > 1)}, {of}"
        yield _latency(f"a question with a misspelt name, {label}", lambda q: _link(named.tolerant, q), misspelt, 25)
        yield from _recall(named, asked, misspelt, label)
    yield from _against_spacy(named if count == _SPACY_NAMES else _Named.build(_SPACY_NAMES, options.work), options)


def _latency(name: str, run: Callable[[str], object], names_: Sequence[str], bound: float) -> Measurement:
    times = each(run, [_QUESTION.format(n) for n in names_])
    note = f"mentions and candidates, {len(names_)} questions; 95% within {percentile(times, 0.95) * 1e3:.1f} ms"
    return Measurement(name, percentile(times, 0.5) * 1e3, "ms", bound=bound, note=note)


def _recall(named: _Named, asked: list[str], misspelt: list[str], label: str) -> Iterator[Measurement]:
    """Recall of the correct name among the first five: of the name alone, in a question, and by rapidfuzz."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    forms = [normalize(name) for name in named.labels]
    wanted = [normalize(name) for name in asked]
    part = range(_RAPIDFUZZ_ASKED)

    def ours(i: int) -> list[str]:
        return [s.form for s in named.trigrams.similar(normalize(misspelt[i]), _BEST)]

    def theirs(i: int) -> list[str]:
        scored = process.extract(
            normalize(misspelt[i]), forms, scorer=OSA.normalized_similarity, processor=None, limit=50
        )
        return list(dict.fromkeys(form for form, _, _ in scored))[:_BEST]

    found: dict[str, list[bool]] = {"ours": [], "rapidfuzz": []}

    def note(name: str, run: Callable[[int], list[str]]) -> Callable[[], None]:
        return lambda: found[name].extend(wanted[i] in run(i) for i in part)

    contestants = {"ours": note("ours", ours), "rapidfuzz": note("rapidfuzz", theirs)}
    median = interleaved(contestants, rounds=1, calls=len(part))
    yield Measurement(f"nearest names, {label}", median["ours"] * 1e3, "ms", "rapidfuzz", median["rapidfuzz"] * 1e3)
    yield Measurement(
        f"recall@5, {label}",
        _share([w in ours(i) for i, w in enumerate(wanted)]),
        "share",
        "rapidfuzz",
        _share(found["rapidfuzz"]),
        note=f"the name alone, {len(wanted)} names; rapidfuzz on the first {len(part)}, "
        f"on which ours has {_share(found['ours']):.3g}",
    )
    inside = [w in _link(named.tolerant, _QUESTION.format(m)) for w, m in zip(wanted, misspelt, strict=True)]
    yield Measurement(
        f"recall@5 in a question, {label}", _share(inside), "share", note="includes detection of the mention"
    )


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


def _against_spacy(named: _Named, options: Options) -> Iterator[Measurement]:
    """Mention detection only; building a PhraseMatcher takes too long beyond about 100,000 names."""
    import spacy
    from spacy.matcher import PhraseMatcher

    nlp: Any = spacy.blank("en")
    matcher = PhraseMatcher(nlp.vocab, attr="LOWER")
    matcher.add("NAME", list(nlp.tokenizer.pipe(named.labels)))
    questions = [_QUESTION.format(name) for name in named.labels[:_ASKED]]
    contestants: dict[str, Callable[[], object]] = {
        "ours": lambda: [named.exact.mentions(read_text(question)) for question in questions],
        "spacy": lambda: [matcher(nlp(question)) for question in questions],
    }
    median = interleaved(contestants, options.rounds, len(questions))
    yield Measurement(
        f"exact mentions of a question, {len(named.labels):,} names",
        median["ours"] * 1e3,
        "ms",
        "spaCy PhraseMatcher",
        median["spacy"] * 1e3,
        note="ours also scores and ranks the mentions",
    )
