"""What users answer to Frank-Wolfe. Sees ratings."""
