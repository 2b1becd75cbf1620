"""Kernels as text that people edit."""
