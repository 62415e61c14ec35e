"""The trivial methods: what any result has to stand beside."""
