"""What Flower runs at the server."""

from discreet.silos.flower.server_app import server_app

app = server_app()
