"""Points in time as years, months and days."""

import numpy as np

from triplecheck.kg.values import Quantities, quantities

__all__ = ["Quantities", "quantities", "time_parts", "years"]


def years(sizes: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The years of points in time, shape (n,); the year before 1 is 0."""
    days = np.where(np.isfinite(sizes), sizes, 0).astype(np.int64) - _TO_1970
    return days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64).astype(np.float64) + 1970


_TO_1970 = 719_163  # days from the last day of year 0 to 1970-01-01


def time_parts(
    sizes: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Years, months and days of points in time, each shape (n,)."""
    days = (np.where(np.isfinite(sizes), sizes, 0).astype(np.int64) - _TO_1970).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    month = (months.astype(np.int64) % 12 + 1).astype(np.float64)
    return years(sizes), month, (days - months).astype(np.int64).astype(np.float64) + 1
