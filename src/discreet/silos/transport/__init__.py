"""How questions and answers travel between the server and the silos: over TLS, or as files by hand."""
