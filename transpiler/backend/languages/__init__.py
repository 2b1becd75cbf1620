"""The languages: one `Language` object each, in a folder of its own, and what they share.

`language` says what a language may differ in, `registry` lists all; `spelling` is the door for printers.
"""
