"""What projected gradient asks and what it makes of the releases. Sees no ratings."""
