"""Where the users are: in memory."""
