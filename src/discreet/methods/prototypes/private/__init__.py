"""What a silo makes its prototypes from. Sees ratings."""
