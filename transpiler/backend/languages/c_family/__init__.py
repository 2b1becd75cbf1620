"""What C and its descendants share: the table of operations on scalars, selection between tensors."""
