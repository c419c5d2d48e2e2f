"""The reader: a trained student of the answering step. It picks the facts and the operation; code does the rest."""

from triplecheck.lms.reader.engine import ReaderEngine
from triplecheck.lms.reader.model import Reader, load_reader, save_reader
from triplecheck.lms.reader.readings import Reading, readings

__all__ = ["Reader", "ReaderEngine", "Reading", "load_reader", "readings", "save_reader"]
