"""Flower: the same rounds, questions and answers under ``flwr run``, for people who already operate it.

An app of Flower has a server and a client module; :mod:`.server_app` and :mod:`.client_app` make what they export.
Flower itself is an extra, ``discreet[flower]``, and is imported only where an app is made. ``examples/flower`` is a
complete app.

Notes
-----
**Trust**. Flower sends the code of an app to its nodes together with the run, so whoever may start runs decides what
a node executes, and a silo's refusals are worth as much as that person's word. The adapter is for the simulation, in
which one operator has it all anyway. Organisations that do not trust the server use ``discreet federate``.
"""
