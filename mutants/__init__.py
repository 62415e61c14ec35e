"""Bugs that would break a promise, planted one at a time: every one of them must turn a test red.

``make mutants`` plants each in a copy of the sources, runs the tests that should see it, and says which did. The
checkout is never touched. A bug whose place in the sources is gone fails the command as well, so that the list keeps
up with the code.
"""
