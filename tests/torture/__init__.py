"""Attacks on Triplecheck: kills, damaged input, hostile replies and servers, and its limits (`make torture`)."""
