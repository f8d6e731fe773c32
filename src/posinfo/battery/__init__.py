"""Checks that take an implementation: ours, a faulty one, an independent one, or a reader's own.

A suite asserts what the library does. A battery asks an implementation that it has never seen
whether it does what its kind promises, and says in words what it does instead.
"""
