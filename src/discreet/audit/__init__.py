"""Try to break it: what was promised against what an attacker with every advantage finds."""
