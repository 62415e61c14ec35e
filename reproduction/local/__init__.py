"""The local-privacy schemes of the papers, which nobody should deploy, and what the experiments on devices share."""
