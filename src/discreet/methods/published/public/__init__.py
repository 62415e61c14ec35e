"""What the published methods ask, and what they make of the releases. Sees no ratings."""
