"""Private prototypes: one message from each silo, one back, nothing else (paper 003, with its corrections)."""
