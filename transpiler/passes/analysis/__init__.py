"""Analyses: passes query them; they do not change the kernel."""
