"""What users answer to projected gradient. Sees ratings."""
