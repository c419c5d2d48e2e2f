"""How embeddings are trained: one value object, with defaults that work."""

from __future__ import annotations

from dataclasses import dataclass

from triplecheck.kg.errors import UserError

LOOPS = ("auto", "pykeen", "sampled")


@dataclass(frozen=True)
class TrainingOptions:
    """Everything that decides which weights come out.

    Attributes:
        model: a model of PyKEEN by name.
        dimensions: PyKEEN's `embedding_dim`; of a complex model, complex numbers.
        epochs: at most so many.
        loop: `pykeen` (PyKEEN's own training loop), `sampled` (the same model, loss and regulariser, but only
            some of all tails are scored, see `kg.embedding.sampled`) or `auto`: by the size of the graph.
        batch_size: (head, relation) pairs, or triples, a step.
        negatives: tails drawn for comparison; None for 1,500 that a batch shares (`sampled`), or 64 a triple (in
            PyKEEN's loop over single triples, which graphs get that are too large to compare with all tails).
        optimizer: of torch by name.
        learning_rate: its step.
        regularization: weight of N3 (Lacroix et al. 2018) for models that are products (ComplEx, DistMult); the
            others keep PyKEEN's regulariser.
        held_out: share of triples that is kept from training: half to stop early by, half to measure on.
        evaluate_every: epochs between two looks at the held-out triples.
        patience: looks without a better MRR before training stops.
        values: embed literal values, too. By default only entities: most values stand in a single triple.
        half: store vectors in half precision.
        seed: of the split, the first weights and every epoch.
    """

    model: str = "ComplEx"
    dimensions: int = 128
    epochs: int = 100
    loop: str = "auto"
    batch_size: int = 1000
    negatives: int | None = None
    optimizer: str = "Adagrad"
    learning_rate: float = 0.1
    regularization: float = 0.05
    held_out: float = 0.1
    evaluate_every: int = 5
    patience: int = 3
    values: bool = False
    half: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dimensions", "epochs", "batch_size", "negatives", "evaluate_every", "patience"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise UserError(f"{name} must be at least 1, not {value}")
        if not 0 < self.held_out < 1:
            raise UserError(f"held_out is a share of all triples between 0 and 1, not {self.held_out}")
        if self.learning_rate <= 0 or self.regularization < 0:
            raise UserError("learning_rate must be above 0, regularization not below 0")
        if self.loop not in LOOPS:
            raise UserError(f"no training loop {self.loop!r}; there are: {', '.join(LOOPS)}")
