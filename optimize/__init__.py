"""Compiling and distilling: optimizers by name, cost estimates, and bundles with compiled programs."""

from typing import TYPE_CHECKING

from triplecheck.kg._lazy import lazily

if TYPE_CHECKING:
    from triplecheck.optimize.bundle import Bundle, load_bundle, save_bundle
    from triplecheck.optimize.compile import Compiled, compile_program
    from triplecheck.optimize.examples import Split, split
    from triplecheck.optimize.preflight import CompilePlan, Estimate
    from triplecheck.optimize.registry import optimizer_names, optimizer_specs, resolve_optimizer
    from triplecheck.optimize.spec import OptimizerSpec

__all__ = [
    "Bundle",
    "Compiled",
    "Estimate",
    "OptimizerSpec",
    "CompilePlan",
    "Split",
    "compile_program",
    "load_bundle",
    "optimizer_names",
    "optimizer_specs",
    "resolve_optimizer",
    "save_bundle",
    "split",
]

__getattr__ = lazily(
    __name__,
    {
        "bundle": "Bundle load_bundle save_bundle",
        "compile": "Compiled compile_program",
        "examples": "Split split",
        "preflight": "CompilePlan Estimate",
        "registry": "optimizer_names optimizer_specs resolve_optimizer",
        "spec": "OptimizerSpec",
    },
)
