"""Know³-RAG (arXiv 2505.12662): `reliability` is section 4.2, `generation` 4.3, `filter` 4.4, `program` the loop.

`replay` computes from one trace what other values of theta_0 and T would have answered.
"""

from triplecheck.programs.know3rag.generation import Know3RAGLimits
from triplecheck.programs.know3rag.options import Know3RAGOptions
from triplecheck.programs.know3rag.program import Know3RAG

__all__ = ["Know3RAG", "Know3RAGLimits", "Know3RAGOptions"]
