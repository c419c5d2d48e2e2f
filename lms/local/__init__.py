"""Embedded small models: weights on this machine, run inside this process."""
