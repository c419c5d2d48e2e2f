"""Experiments as configuration files: one command runs them and writes tables and figures."""
