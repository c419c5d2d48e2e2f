"""Compiling and distilling: optimizers by name, cost estimates, and bundles with compiled programs."""
