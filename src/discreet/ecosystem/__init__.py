"""Models and ratings in other people's tools: data frames, scikit-learn, LensKit, RecTools. See docs/ecosystem.md.

frames     many users' rows in, recommendations out, in the kind of frame that came in
sklearn    a transformer and recommender for scikit-learn's pipelines
lenskit    a model as a scorer of a LensKit pipeline
rectools   a model as one of RecTools'

Each is imported by its own name and needs its package then; none is needed otherwise.
"""
