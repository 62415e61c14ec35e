"""What Flower runs for every silo."""

from discreet.federated.flower.client_app import client_app

app = client_app()
