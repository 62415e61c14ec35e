"""The local model: the server is the adversary, and each device answers with one noisy bit a round."""
