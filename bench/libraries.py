"""Own code beside the library that does the same: `python -m bench.libraries [MODEL.gguf]`.

Seconds of both, for the lines of docs/architecture.md that claim speed. A library that is not installed is left out.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from bench.timing import interleaved

_ENTITIES, _RELATIONS, _TRIPLES, _RANKED = 20_000, 300, 200_000, 300
_STANZAS = 10_000

Contest = tuple[str, str, Callable[[], object], Callable[[], object]]
"""What is done, the library, and the functions of ours and of the library."""


def ranks() -> Iterator[Contest]:
    import torch
    from pykeen.evaluation import RankBasedEvaluator

    from triplecheck.kg.embedding import TrainingOptions
    from triplecheck.kg.embedding.models import make_model
    from triplecheck.kg.embedding.ranking import TripleSplit, quality
    from triplecheck.kg.embedding.training import scorer_of

    drawn = np.random.default_rng(0)
    ends = (drawn.integers(0, _ENTITIES, _TRIPLES) for _ in range(2))
    triples = np.unique(np.stack([next(ends), drawn.integers(0, _RELATIONS, _TRIPLES), next(ends)], axis=1), axis=0)
    parts = TripleSplit(triples[_RANKED:], triples[:0], triples[:_RANKED], _ENTITIES, _RELATIONS)
    model = make_model(TrainingOptions(dimensions=64), _ENTITIES, _RELATIONS).eval()
    train, test = torch.from_numpy(parts.train), torch.from_numpy(parts.test)
    settings = {"batch_size": 256, "additional_filter_triples": [train], "use_tqdm": False}
    yield (
        f"ranks of {_RANKED} triples among {_ENTITIES:,} entities",
        "pykeen's RankBasedEvaluator",
        lambda: quality(scorer_of(model), parts.test, parts),
        lambda: RankBasedEvaluator(filtered=True).evaluate(model, test, **settings),
    )


def resampling() -> Iterator[Contest]:
    from scipy.stats import bootstrap, permutation_test

    from triplecheck.evals.metrics.statistics import bootstrap_interval, randomisation

    scores = np.random.default_rng(0).integers(0, 2, (2, 5_000)).astype(float)
    a, b = scores.tolist()
    pair = (scores[1] - scores[0],)
    settings = {"n_resamples": 10_000, "batch": 100, "rng": 0}
    yield (
        "95% interval of 5,000 scores",
        "scipy.stats.bootstrap",
        lambda: bootstrap_interval(a),
        lambda: bootstrap((scores[0],), np.mean, method="percentile", **settings),
    )
    yield (
        "randomisation test of 5,000 scores",
        "scipy.stats.permutation_test",
        lambda: randomisation(a, b),
        lambda: permutation_test(pair, np.mean, permutation_type="samples", vectorized=True, **settings),
    )


def stanzas() -> Iterator[Contest]:
    from debian.deb822 import Packages

    from triplecheck.kg.readers.debian import parse_stanzas

    one = "Package: p{0}\nDepends: libc6 (>= 2.3), q{0}\nDescription: short\n longer\nSection: utils\n\n"
    text = "".join(one.format(number) for number in range(_STANZAS)).encode()
    yield (
        f"{_STANZAS:,} stanzas of a Packages file",
        "python-debian",
        lambda: list(parse_stanzas(text.splitlines(), "Packages")),
        lambda: [dict(found) for found in Packages.iter_paragraphs(io.BytesIO(text), use_apt_pkg=False)],
    )


def weights(path: Path) -> Iterator[Contest]:
    from gguf import GGUFReader

    from triplecheck.lms.local.gguf_file import read_metadata

    yield f"metadata of {path.name}", "gguf's GGUFReader", lambda: read_metadata(path), lambda: GGUFReader(path)


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]]
    for contests in (ranks, resampling, stanzas, *(lambda path=path: weights(path) for path in files)):
        with suppress(ModuleNotFoundError):
            for what, library, ours, theirs in contests():
                seconds = interleaved({"ours": ours, "theirs": theirs}, rounds=3)
                print(f"{what}: {seconds['ours']:.3f} s, {library} {seconds['theirs']:.3f} s", flush=True)


if __name__ == "__main__":
    main()
