"""What the trivial methods ask. Sees no ratings."""
