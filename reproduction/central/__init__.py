"""What the experiments under a trusted server share: tasks, methods, tuning of the published ones, curves."""
