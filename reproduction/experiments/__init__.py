"""One module for each figure or table, or for a few that are alike; `registry` says which is where.

In each, ``run`` does it (the context decides on sizes), ``measure`` computes one data set's numbers, ``tabulate`` makes
a table's rows of them, ``judge`` holds them against what the paper says, and ``_draw`` makes the picture.
"""
