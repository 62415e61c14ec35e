"""Published data sets: loaders, and which one is used where the paper's is not at hand."""
