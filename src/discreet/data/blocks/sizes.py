"""How much is worked on at once, and sorted at once."""

from __future__ import annotations

__all__ = ["block_size", "partition_count"]

_FEWEST, _MOST, _FOR_AN_ITEM = 1 << 20, 1 << 22, 32
_BLOCKS_OF_A_PARTITION, _LARGEST_PARTITION = 4, 1 << 22


def block_size(n_items: int) -> int:
    """Ratings of a block.

    Few, so that what is computed from one stays in the caches; but so many for each item that the sums over items,
    which every block adds to, are small beside them.
    """
    return max(_FEWEST, min(_FOR_AN_ITEM * n_items, _MOST))


def partition_count(rows: int, block_ratings: int) -> int:
    """In how many partitions rows are dealt. One has several blocks: every run is cut into as many pieces."""
    return -(-rows // min(_BLOCKS_OF_A_PARTITION * block_ratings, _LARGEST_PARTITION))
