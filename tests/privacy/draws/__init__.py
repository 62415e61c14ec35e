"""Noise as it comes out: very many numbers against exact laws, streams against each other, and published attacks.

``make test`` draws a million numbers of each kind; ``make noise`` a hundred million, and writes what it found.
"""
