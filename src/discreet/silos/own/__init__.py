"""A silo's own model: the federated one, refined on the silo's own ratings. Nothing of it leaves the silo."""
