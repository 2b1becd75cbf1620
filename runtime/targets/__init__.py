"""The targets, one folder for each: the only place in the runtime that says how one target differs from another.

`registry.py` imports a folder when its target is first used; no other module imports one.
"""
