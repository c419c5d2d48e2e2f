"""4StepFocus: `program` is Algorithm 1, `substitution` Algorithms 2 and 3, `rerank` the last step."""

from triplecheck.programs.fourstepfocus.options import FourStepFocusLimits, FourStepFocusOptions
from triplecheck.programs.fourstepfocus.program import FourStepFocus
from triplecheck.programs.fourstepfocus.substitution import Matching

__all__ = ["FourStepFocus", "FourStepFocusLimits", "FourStepFocusOptions", "Matching"]
