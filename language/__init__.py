"""Reads language: what a question asks for, the words that may name relations, and how well paths fit them."""
