"""Compiling that does what pays: steps are tuned alone, on recorded calls, and the whole program decides."""
