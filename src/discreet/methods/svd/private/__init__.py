"""What users answer to private SVD. Sees ratings."""
