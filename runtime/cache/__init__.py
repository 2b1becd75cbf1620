"""Kernels kept on disk between processes: entries in one folder, what they are found by, how the folder is cleaned."""
