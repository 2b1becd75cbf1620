"""A texture sampled, one fetched from, and integers stored: over the extents of the last."""

import shadesmith as ti

texture = ti.types.texture(num_dimensions=2)
labels_2d = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rg16u)


def kernel(source: texture, mask: texture, labels: labels_2d):
    for i, j in labels:
        uv = (ti.Vector([i, j]) + 0.5) / ti.Vector([labels.shape[0], labels.shape[1]])
        colour = source.sample_lod(uv, 0.0)
        if mask.fetch(ti.Vector([i, j]), 0).x > 0.5:
            labels.store(ti.Vector([i, j]), ti.cast(colour * 100.0, ti.u32))


arguments = [texture, texture, labels_2d]
