"""What server and silos have in common: agreement, messages, masks, stores. Sees no ratings."""
