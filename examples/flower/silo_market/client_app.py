"""What Flower runs for every silo."""

from discreet.silos.flower.client_app import client_app

app = client_app()
