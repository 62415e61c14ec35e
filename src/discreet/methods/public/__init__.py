"""What every method's public half builds on: settings, queries, the driver. Sees no ratings."""
