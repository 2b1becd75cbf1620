"""The user's source: definitions, signatures, specializations."""
