"""The DSPy optimizers by name, and the reasons why some are not supported."""

from __future__ import annotations

import difflib

from triplecheck.kg import UserError
from triplecheck.optimize.optimizers.few_shot import BOOTSTRAP_FEW_SHOT, LABELED_FEW_SHOT, RANDOM_SEARCH
from triplecheck.optimize.optimizers.instructions import COPRO, GEPA, MIPRO, SIMBA
from triplecheck.optimize.spec import OptimizerSpec

_SPECS = (
    LABELED_FEW_SHOT,
    BOOTSTRAP_FEW_SHOT,
    RANDOM_SEARCH,
    COPRO,
    MIPRO,
    SIMBA,
    GEPA,
)
_LEFT_OUT = {
    "BootstrapFewShotWithOptuna": "is not seeded; BootstrapFewShotWithRandomSearch also searches demonstrations",
    "KNNFewShot": "calls the teacher again for every question, and its program cannot be saved; use it from DSPy",
    "InferRules": "changes signatures that programs share; GEPA also writes rules into instructions",
    "BetterTogether": "sets one model on every step; use it from DSPy",
    "Ensemble": "returns a program without a trace or a proof; use it from DSPy",
    "AvatarOptimizer": "does not run with this DSPy; GEPA also rewrites instructions from feedback",
    "SignatureOptimizer": "is deprecated; COPRO is its new name",
    "BootstrapFinetune": "trains one model on the rows of all steps; `triplecheck distill --student lora` trains the "
    "answering step on verified traces",
    "GRPO": "trains weights by reinforcement learning on a separate cluster; `triplecheck distill --student lora` "
    "trains them on verified traces",
}


def optimizer_specs() -> tuple[OptimizerSpec, ...]:
    """All optimizers."""
    return _SPECS


def optimizer_names() -> list[str]:
    """Names of all optimizers, as in DSPy."""
    return [spec.name for spec in _SPECS]


def resolve_optimizer(name: str) -> OptimizerSpec:
    """The optimizer of a name, ignoring case, hyphens and underscores.

    Raises:
        UserError: unknown name, or an optimizer that is not supported; the message lists the others.
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
