"""What is made of prototypes: evidence, messages, the server's model. Sees no ratings."""
