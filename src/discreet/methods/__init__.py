"""One package for each method: settings, a public half that asks, a private half that answers, and the estimator.

Nothing is imported here, so that whoever needs a public half loads nothing that holds ratings.
"""
