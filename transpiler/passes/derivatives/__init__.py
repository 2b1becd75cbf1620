"""Derivatives: a kernel is replaced by the kernel that computes its gradients or its duals."""
