"""What the experiments over silos share: worlds, methods, references that are not private, tables."""
