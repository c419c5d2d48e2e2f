"""Fitting: choose options on one half of the questions, and the threshold to abstain on the other, with a guarantee."""

from triplecheck.optimize.fit.fitting import FitPlan, Fitted, fit_program, halves
from triplecheck.optimize.fit.risk_control import Choice, Guarantee, Point, Sample, check_guarantee, choose_threshold
from triplecheck.optimize.fit.search import Option, read_space, space_of

__all__ = [
    "Choice",
    "Fitted",
    "Option",
    "FitPlan",
    "Point",
    "Guarantee",
    "Sample",
    "check_guarantee",
    "choose_threshold",
    "fit_program",
    "halves",
    "read_space",
    "space_of",
]
