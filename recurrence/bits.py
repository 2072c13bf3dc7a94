"""Sets of small numbers as bit masks: bit n stands for the number n."""

from collections.abc import Iterable, Iterator


def mask_of(values: Iterable[int]) -> int:
    mask = 0
    for value in values:
        mask |= 1 << value
    return mask


def lowest(mask: int) -> int:
    """Return the smallest number in a mask that is not empty."""
    return (mask & -mask).bit_length() - 1


def members(mask: int) -> Iterator[int]:
    """Yield the numbers in `mask`, smallest first."""
    while mask:
        yield lowest(mask)
        mask &= mask - 1


def count_below(mask: int, limit: int) -> int:
    """Return how many numbers in `mask` are smaller than `limit`."""
    return (mask & ((1 << limit) - 1)).bit_count()


def position_of(mask: int, rank: int) -> int:
    """Return the member of `mask` that has `rank` smaller ones; it must exist."""
    low, high = 0, mask.bit_length()
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if count_below(mask, middle) <= rank else (low, middle)
    return low
