"""The reader: a trained student of the answering step. It picks the facts and the operation; code does the rest."""
