"""What private EASE asks, and the table that follows from the releases. Sees no ratings."""
