"""Private projected gradient."""
