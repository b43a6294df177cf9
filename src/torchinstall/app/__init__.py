"""The use cases, wired: the one room that knows both what is seen and what is decided. No rules of its own.

``base`` is what all of them share; each other module is one use case.
"""
