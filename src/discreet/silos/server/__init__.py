"""The coordinator: asks, adds up, releases. Holds nobody's ratings."""
