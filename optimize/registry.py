"""Every DSPy optimizer that works, by name, and why the others are not here."""

from __future__ import annotations

import difflib

from triplecheck.kg import UserError
from triplecheck.optimize.optimizers.combined import BETTER_TOGETHER, ENSEMBLE
from triplecheck.optimize.optimizers.few_shot import (
    BOOTSTRAP_FEW_SHOT,
    KNN_FEW_SHOT,
    LABELED_FEW_SHOT,
    OPTUNA,
    RANDOM_SEARCH,
)
from triplecheck.optimize.optimizers.instructions import COPRO, INFER_RULES, MIPRO
from triplecheck.optimize.optimizers.reflective import GEPA, SIMBA
from triplecheck.optimize.optimizers.weights import BOOTSTRAP_FINETUNE
from triplecheck.optimize.spec import OptimizerSpec

_SPECS = (
    LABELED_FEW_SHOT,
    BOOTSTRAP_FEW_SHOT,
    RANDOM_SEARCH,
    OPTUNA,
    KNN_FEW_SHOT,
    COPRO,
    MIPRO,
    INFER_RULES,
    SIMBA,
    GEPA,
    BETTER_TOGETHER,
    ENSEMBLE,
    BOOTSTRAP_FINETUNE,
)
_LEFT_OUT = {
    "AvatarOptimizer": "does not run with this DSPy; GEPA rewrites instructions from feedback, too",
    "SignatureOptimizer": "is deprecated; COPRO is the same under its new name",
    "GRPO": "trains weights by reinforcement on a cluster of its own; BootstrapFinetune trains them on traces",
}


def optimizer_specs() -> tuple[OptimizerSpec, ...]:
    """All optimizers."""
    return _SPECS


def optimizer_names() -> list[str]:
    """Their names, as DSPy writes them."""
    return [spec.name for spec in _SPECS]


def resolve_optimizer(name: str) -> OptimizerSpec:
    """The optimizer of a name, whatever its case.

    Raises:
        UserError: there is none, or it does not work; the message says why, and which ones do.
    """
    plain = _plain(name)
    for spec in _SPECS:
        if plain in (_plain(spec.name), *map(_plain, spec.short)):
            return spec
    for left_out, reason in _LEFT_OUT.items():
        if plain == _plain(left_out):
            raise UserError(f"{left_out} {reason}")
    near = difflib.get_close_matches(plain, [_plain(known) for known in optimizer_names()], 1)
    meant = next((f" (did you mean {known}?)" for known in optimizer_names() if near and _plain(known) == near[0]), "")
    raise UserError(f"no optimizer {name!r}{meant}; there are: {', '.join(optimizer_names())}")


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")
