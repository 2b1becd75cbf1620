"""The languages: one `Language` object each, in a folder of its own, and what they share.

`common/language` defines what may differ between languages, `registry` lists all languages, and `common/syntax` is the
facade that printers use.
"""
