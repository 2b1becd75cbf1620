"""Shared by all languages: the description of a language, syntax of operations, tensors, helper libraries."""
