"""Know³-RAG (arXiv 2505.12662): `reliability` is section 4.2, `generation` 4.3, `filter` 4.4, `program` the loop.

`replay` computes from one trace what other values of theta_0 and T would have answered.
"""
