"""The pass that turns atomic additions to gradients into sums over the iterations that add to an element."""
