"""What users contribute to private EASE. Sees ratings."""
