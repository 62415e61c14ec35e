"""The manual: pages that are made when the site is built, and links that lead out of ``docs``."""
