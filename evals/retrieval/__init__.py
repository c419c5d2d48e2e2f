"""Retrieval questions: generated from any knowledge base, or hand-written with a condition."""
