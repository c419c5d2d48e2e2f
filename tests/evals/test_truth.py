"""What verdicts are worth: the confidence of each graph comes from the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from triplecheck.evals.truth import Judged, fit, left_out, read_judged, worth
from triplecheck.kg import UserError
from triplecheck.lms.kinds import BASELINE, LANGUAGE_MODEL
from triplecheck.programs.judge.confidence import FACTS, FLOOR
from triplecheck.programs.judge.features import QUERY


def rows(graph: str, n: int = 120, turned: bool = False) -> list[Judged]:
    """Answers, of which those with a high `likeness` are mostly right; turned: mostly wrong."""
    random = np.random.default_rng(len(graph))
    found = []
    for likeness in random.random(n).tolist():
        right = bool(random.random() < 1 / (1 + np.exp(6 - 12 * likeness))) != turned
        found.append(Judged(graph, f"{graph}-set", "p", right, True, True, {"likeness": likeness, "hops": 1.0}, True))
    return found


def test_nothing_of_a_graph_tells_its_own_confidence() -> None:
    """If the labels of one graph change, only the confidence of the others does."""
    before = left_out([*rows("a"), *rows("bb"), *rows("ccc")])
    after = left_out([*rows("a", turned=True), *rows("bb"), *rows("ccc")])
    changed = {old.graph for old, new in zip(before, after, strict=True) if old.confidence != new.confidence}
    assert changed == {"bb", "ccc"}


def test_likely_answers_are_proved_and_unlikely_ones_withheld() -> None:
    judged = left_out([*rows("a"), *rows("bb"), *rows("ccc")])
    proved = [row for row in judged if row.verdict == "proved"]
    held = [row for row in judged if not row.is_given]
    assert proved and held
    assert np.mean([row.right for row in proved]) > 0.75 > 0.45 > np.mean([row.right for row in held])
    assert fit(rows("a") + rows("bb") + rows("ccc")).models[BASELINE][FACTS].proved >= FLOOR


def test_the_bar_is_higher_where_confidences_say_too_much() -> None:
    """On two graphs of four only answers with a high likeness are right, which the other two do not tell."""
    usual = [*rows("a", 400), *rows("bb", 400)]
    strange = [*rows("ccc", 400), *rows("dddd", 400)]
    strange = [replace(row, right=row.right and row.features["likeness"] > 0.8) for row in strange]
    assert fit([*usual, *rows("ccc", 400)]).bar == FLOOR < 0.55 < fit([*usual, *strange]).bar < 0.75
    given = [row.confidence for row in left_out([*usual, *strange]) if row.is_given]
    assert given and all(one is not None and one >= FLOOR for one in given)


def test_an_answer_that_proves_nothing_is_never_proved() -> None:
    unprovable = [replace(row, provable=False) for row in rows("a")]
    judged = left_out([*unprovable, *rows("bb"), *rows("ccc")])
    assert {row.verdict for row in judged if row.graph == "a"} == {"supported"}


def test_a_language_model_and_queries_have_models_of_their_own() -> None:
    known = [*rows("a"), *rows("bb"), *rows("ccc")]
    other = [replace(row, kind=LANGUAGE_MODEL, right=row.right and at % 4 == 0) for at, row in enumerate(known)]
    asked = [replace(row, features={QUERY: 1.0, "weakest": row.features["likeness"]}) for row in known]
    models = fit([*known, *other, *asked]).models
    assert {kind: set(ways) for kind, ways in models.items()} == {BASELINE: {FACTS, QUERY}, LANGUAGE_MODEL: {FACTS}}
    likely = {"likeness": 0.95, "hops": 1.0}
    assert models[BASELINE][FACTS](likely) > 0.8 > 0.4 > models[LANGUAGE_MODEL][FACTS](likely)
    before = [row.confidence for row in left_out(known)]
    assert [row.confidence for row in left_out([*known, *other]) if row.kind == BASELINE] == before


def test_a_kind_with_too_few_answers_has_no_model() -> None:
    known = [*rows("a"), *rows("bb"), *rows("ccc")]
    few = [replace(row, kind=LANGUAGE_MODEL) for row in rows("a")]
    assert set(fit([*known, *few]).models) == {BASELINE}


def test_one_graph_cannot_be_left_out() -> None:
    with pytest.raises(UserError, match="two graphs or more"):
        left_out([*rows("a"), *rows("bb")])


def test_the_shares_of_the_verdicts_add_up() -> None:
    unknown = Judged("a", "a", "p", False, False, True, {}, False)
    found = worth([*left_out([*rows("a"), *rows("bb"), *rows("ccc")]), unknown])
    assert sum(map(sum, found.shares.values())) == pytest.approx(1)
    assert found.given_right + found.given_wrong + found.withheld == pytest.approx(1)
    assert found.auroc is not None and found.auroc > 0.7
    with pytest.raises(ValueError, match="no rows"):
        worth([])


def test_rows_of_an_evaluation_are_read() -> None:
    row = {"status": "ok", "crag": "accurate", "answer": "x", "abstained": False, "grounded": True, "answerable": True}
    features = {"support": 1.0, "kind_fit": 1.0, "hops": 1.0}
    asked = [
        {**row, "features": features},
        {**row, "features": features, "doubts": ["it may not"]},
        {**row, "features": {"query": 1.0}, "steps": [{"kind": "wrote", "model": "openai/x"}, {"kind": "linked"}]},
        {**row, "crag": "missing", "answer": "", "abstained": True, "grounded": False},
        {"status": "error"},
    ]
    given, doubted, computed, abstained = read_judged("g", "d", "p", asked)
    assert given.provable and given.right and given.answered
    assert not doubted.provable
    assert computed.provable and computed.group == (LANGUAGE_MODEL, QUERY) and given.group == (BASELINE, FACTS)
    assert not abstained.answered and abstained.features == {}
