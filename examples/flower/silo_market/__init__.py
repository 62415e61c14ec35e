"""A Flower app: silos train a private recommender together."""
