"""What users contribute to the published methods, and the classes that people fit. Sees ratings."""
