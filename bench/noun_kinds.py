"""Train what tells persons, places, groups and other things by a noun (`language/words/en.kinds.safetensors`).

    python -m bench.noun_kinds [--write]

A softmax regression over the vectors of the bundled encoder, from the nouns in `noun_kinds.json`. It is measured by
tenfold cross-validation, so that each noun is told by a model that has not seen it. `--write` replaces the file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from triplecheck.kg.encode import load_encoder
from triplecheck.language.kinds import LEAST, PROBE, weights_file

NOUNS = Path(__file__).with_name("noun_kinds.json")
_INVERSE_DECAY, _FOLDS, _STEPS = 10.0, 10, 2000


def main() -> None:
    """Print how often the kind of an unseen noun is right, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="replace the weights in the package")
    given = parser.parse_args()
    nouns = {kind: list(dict.fromkeys(some)) for kind, some in json.loads(NOUNS.read_text()).items()}
    encode = load_encoder().encode
    vectors = np.asarray(encode([noun for some in nouns.values() for noun in some]), np.float64)
    kinds = np.repeat(np.arange(len(nouns)), [len(some) for some in nouns.values()])
    model = LogisticRegression(C=_INVERSE_DECAY, max_iter=_STEPS)
    unseen = cross_val_predict(model, vectors, kinds, cv=_FOLDS, method="predict_proba")
    told = unseen.max(axis=1) >= LEAST
    print(
        f"{len(kinds)} nouns; unseen: {told.mean():.3f} told, {(unseen.argmax(axis=1) == kinds)[told].mean():.3f} right"
    )
    model.fit(vectors, kinds)
    own = model.predict_proba(vectors)
    told = own.max(axis=1) >= LEAST
    print(f"the nouns themselves: {told.mean():.3f} told, {(own.argmax(axis=1) == kinds)[told].mean():.3f} right")
    if given.write:
        tensors = {"weight": model.coef_, "bias": model.intercept_, "probe": np.asarray(encode([PROBE])[0])}
        single = {name: np.ascontiguousarray(array, np.float32) for name, array in tensors.items()}
        save_file(single, weights_file("en"), {"kinds": json.dumps(list(nouns))})


if __name__ == "__main__":
    main()
