"""The local-privacy schemes of the papers, and tools to compare them with ours."""
