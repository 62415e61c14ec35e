"""The server room, and what is served in it: a released model behind HTTP, and the page that recommends in the browser.

Nothing here holds ratings. A history lives as long as the request that brings it; it is neither stored nor logged, and
no noise is drawn: what is served was released before.
"""
