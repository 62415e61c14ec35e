"""What users answer to the trivial methods. Sees ratings."""
