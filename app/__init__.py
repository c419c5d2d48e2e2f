"""The command line of Triplecheck: `triplecheck`, one module per group of commands."""
