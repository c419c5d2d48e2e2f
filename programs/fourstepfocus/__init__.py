"""4StepFocus: `program` is Algorithm 1, `substitution` Algorithms 2 and 3, `rerank` the last step."""
