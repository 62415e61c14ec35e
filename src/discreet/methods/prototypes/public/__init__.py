"""What is sent, and what the server makes of it. Sees no ratings."""
