"""One model in three forms: the base prompt, chain of thought, and fine-tuned on its own verified chains.

Source: KERAG (arXiv 2509.04716), its third mechanism.
"""

from triplecheck.optimize.distil.lora.student import distil_lora

__all__ = ["distil_lora"]
