"""The targets, a folder each: the only place in the runtime that says how one target differs from another.

`runtime/devices/target_tools.py` loads a folder when its target is first used; nothing imports it by name.
"""
