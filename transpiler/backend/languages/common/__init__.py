"""What languages share: the description of one, syntax of operations, tensors, helper libraries."""
