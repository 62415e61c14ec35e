"""The collector: asks questions, keeps one bit per device and round, and releases what a full round says."""
