"""Joint-DP Frank-Wolfe."""
