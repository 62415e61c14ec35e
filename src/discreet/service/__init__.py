"""A released model behind HTTP: lists from a posted history, similar items, search, statement, health, metrics, page.

Nothing here holds ratings. A history lives as long as the request that brings it; it is neither stored nor logged, and
no noise is drawn: what is served was released before.
"""
