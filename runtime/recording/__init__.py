"""Recordings of launches, and their replay."""
