"""What several methods do with releases. Sees no ratings."""
