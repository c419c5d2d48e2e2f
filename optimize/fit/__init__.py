"""Fitting: a program's options chosen on one half of some questions, when to abstain on the other, with a guarantee."""

from triplecheck.optimize.fit.fitting import FitPlan, Fitted, fit_program, halves
from triplecheck.optimize.fit.risk_control import Choice, Point, Promise, Sample, check_promise, choose_threshold
from triplecheck.optimize.fit.search import Option, read_space, space_of

__all__ = [
    "Choice",
    "Fitted",
    "Option",
    "FitPlan",
    "Point",
    "Promise",
    "Sample",
    "check_promise",
    "choose_threshold",
    "fit_program",
    "halves",
    "read_space",
    "space_of",
]
