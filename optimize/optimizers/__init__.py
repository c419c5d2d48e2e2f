"""The specification of each of DSPy's optimizers, with fixes where DSPy needs them; see `optimize.registry`."""
