"""Fitting: choose options on one half of the questions, and the threshold to abstain on the other, with a guarantee."""

from triplecheck.optimize.fit.fitting import FitPlan, Fitted, fit_program
from triplecheck.optimize.fit.risk_control import check_guarantee
from triplecheck.optimize.fit.search import read_space, space_of

__all__ = ["FitPlan", "Fitted", "check_guarantee", "fit_program", "read_space", "space_of"]
