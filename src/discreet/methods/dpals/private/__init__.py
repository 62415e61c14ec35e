"""What users answer to DPALS. Sees ratings."""
