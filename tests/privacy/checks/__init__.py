"""What must hold of contributions, gate, noise and ledger, as plain functions.

Each raises when something is wrong: an AssertionError, or the error by which the package itself notices. The tests
call them on the code as it is; `test_deliberate_bugs` calls them on broken code and expects them to raise.
"""
