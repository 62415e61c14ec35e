"""What several methods do with ratings before the gate."""
