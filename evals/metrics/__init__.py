"""Metrics: pure functions, strict by default. An empty text or a substring never matches.

- `answers`: text metrics (SQuAD), answers against gold answers by node or by name, and CRAG's outcomes;
- `retrieval`: rankings, retrieved and linked nodes, citations, and popularity bands;
- `statistics`: calibration, confidence intervals and significance tests;
- `trace`: the turn at which a loop stopped, and how its references were used.

The only non-strict metric is `lenient_match`, which is reported for reference.
"""
