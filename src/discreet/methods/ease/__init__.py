"""Lists from one release: a noisy sum of the pairs that people take together, then EASE, a formula."""
