"""Edited sources run in a child process, so that none of them can end or hang the program."""
