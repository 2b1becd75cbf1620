/* --- functions of shadesmith.h: images and samplers --------------------------------------------------------------- */

/* Start a call on images of a runtime. */
static bool enter_images(TiRuntime runtime) {
    if (!check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return false;
    }
    if (runtime->arch != TI_ARCH_VULKAN) {
        return fail(TI_ERROR_NOT_SUPPORTED, "images and samplers are for TI_ARCH_VULKAN, and this runtime is of %s",
                    arch_name(runtime->arch));
    }
    return enter(runtime);
}

static bool check_image_info(const TiImageAllocateInfo *info) {
    const TiImageExtent *extent = &info->extent;
    if ((uint32_t)info->dimension > TI_IMAGE_DIMENSION_3D || extent->array_layer_count != 1) {
        return fail(TI_ERROR_NOT_SUPPORTED,
                    "images have 1, 2 or 3 dimensions and 1 array layer; dimension %d with %u "
                    "layers was asked for",
                    (int)info->dimension, extent->array_layer_count);
    }
    if (info->mip_level_count != 1) {
        return fail(TI_ERROR_NOT_SUPPORTED, "images have 1 level; mip_level_count is %u", info->mip_level_count);
    }
    if (!extent->width || !extent->height || !extent->depth ||
        (extent->height > 1 && info->dimension == TI_IMAGE_DIMENSION_1D) ||
        (extent->depth > 1 && info->dimension != TI_IMAGE_DIMENSION_3D)) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "an image of %d dimensions cannot have %u x %u x %u texels: extents are at least 1, and 1 where "
                    "there is no axis",
                    (int)info->dimension + 1, extent->width, extent->height, extent->depth);
    }
    if ((uint32_t)info->format >= FORMAT_COUNT || info->format == TI_FORMAT_UNKNOWN) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "format %d is none of TiFormat", (int)info->format);
    }
    if (info->export_sharing) {
        return fail(TI_ERROR_NOT_SUPPORTED, "images cannot be exported (export_sharing)");
    }
    return info->usage & ~(uint32_t)(TI_IMAGE_USAGE_STORAGE_BIT | TI_IMAGE_USAGE_SAMPLED_BIT)
               ? fail(TI_ERROR_NOT_SUPPORTED, "images are stored and sampled by kernels, and not attached (usage %#x)",
                      info->usage)
               : true;
}

TiImage ti_allocate_image(TiRuntime runtime, const TiImageAllocateInfo *allocate_info) {
    TiImage image;
    if (!allocate_info) {
        fail(TI_ERROR_ARGUMENT_NULL, "allocate_info is null");
        return NULL;
    }
    if (!enter_images(runtime)) {
        return NULL;
    }
    image = check_image_info(allocate_info) ? (TiImage)handle_acquire(HANDLE_IMAGE, sizeof(struct TiImage_t)) : NULL;
    if (image) {
        image->runtime = runtime;
        image->dimension = allocate_info->dimension;
        image->extent = allocate_info->extent;
        image->format = allocate_info->format;
        if (vulkan_make_image(runtime, image, (allocate_info->usage & TI_IMAGE_USAGE_STORAGE_BIT) != 0)) {
            image->next = runtime->images;
            if (image->next) {
                image->next->previous = image;
            }
            runtime->images = image;
        } else {
            vulkan_free_image(image);
            image = NULL;
        }
    }
    leave(runtime);
    return image;
}

/* Start a call on one image of a runtime. */
static bool enter_image(TiRuntime runtime, TiImage image) {
    if (!check_handle(image, HANDLE_IMAGE, "image") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return false;
    }
    return image->runtime == runtime ? enter(runtime)
                                     : fail(TI_ERROR_INVALID_ARGUMENT, "the image is of another runtime");
}

void ti_free_image(TiRuntime runtime, TiImage image) {
    if (enter_image(runtime, image)) {
        runtime->backend->wait(runtime);
        image_free(image);
        leave(runtime);
    }
}

TiSampler ti_create_sampler(TiRuntime runtime, const TiSamplerCreateInfo *create_info) {
    TiSampler sampler = NULL;
    if (!create_info) {
        fail(TI_ERROR_ARGUMENT_NULL, "create_info is null");
        return NULL;
    }
    if ((uint32_t)create_info->mag_filter > TI_FILTER_LINEAR || (uint32_t)create_info->min_filter > TI_FILTER_LINEAR ||
        (uint32_t)create_info->address_mode > TI_ADDRESS_MODE_CLAMP_TO_BORDER) {
        fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "a sampler cannot have the filters %d and %d, or the address mode %d",
             (int)create_info->mag_filter, (int)create_info->min_filter, (int)create_info->address_mode);
        return NULL;
    }
    if (!(create_info->max_anisotropy <= 1.0f)) {
        fail(TI_ERROR_NOT_SUPPORTED, "kernels name the level that they sample: max_anisotropy is 0 or 1");
        return NULL;
    }
    if (enter_images(runtime)) {
        sampler = vulkan_make_sampler(runtime, create_info);
        leave(runtime);
    }
    return sampler;
}

void ti_destroy_sampler(TiRuntime runtime, TiSampler sampler) {
    if (!check_handle(sampler, HANDLE_SAMPLER, "sampler") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (sampler->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "the sampler is of another runtime");
        return;
    }
    if (enter(runtime)) {
        runtime->backend->wait(runtime);
        sampler_free(sampler);
        leave(runtime);
    }
}

void ti_transition_image(TiRuntime runtime, TiImage image, TiImageLayout layout) {
    if (!enter_image(runtime, image)) {
        return;
    }
    switch (layout) {
    case TI_IMAGE_LAYOUT_SHADER_READ:
    case TI_IMAGE_LAYOUT_SHADER_WRITE:
    case TI_IMAGE_LAYOUT_SHADER_READ_WRITE:
    case TI_IMAGE_LAYOUT_TRANSFER_DST:
    case TI_IMAGE_LAYOUT_TRANSFER_SRC: break; /* GENERAL serves for all of these, and launches and copies are ordered */
    case TI_IMAGE_LAYOUT_UNDEFINED: fail(TI_ERROR_INVALID_ARGUMENT, "an image cannot go back to no layout"); break;
    default:
        fail(TI_ERROR_NOT_SUPPORTED, "images are for kernels and copies, neither attached nor presented (layout %d)",
             (int)layout);
    }
    leave(runtime);
}

/* Check a part of an image, and find how many bytes its contiguous texels take. */
static bool check_image_slice(const TiImageSlice *slice, const char *name, uint64_t *size) {
    const TiImageOffset *offset = &slice->offset;
    const TiImageExtent *extent = &slice->extent, *whole = &slice->image->extent;
    if ((uint64_t)offset->x + extent->width > whole->width || (uint64_t)offset->y + extent->height > whole->height ||
        (uint64_t)offset->z + extent->depth > whole->depth || offset->array_layer_offset ||
        extent->array_layer_count != 1 || slice->mip_level) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "%s of %u x %u x %u texels from (%u, %u, %u) on, level %u, layer %u of %u, is not within its "
                    "image of %u x %u x %u texels, 1 level and 1 layer",
                    name, extent->width, extent->height, extent->depth, offset->x, offset->y, offset->z,
                    slice->mip_level, offset->array_layer_offset, extent->array_layer_count, whole->width,
                    whole->height, whole->depth);
    }
    *size = (uint64_t)extent->width * extent->height * extent->depth * TEXEL_FORMATS[slice->image->format].texel_size;
    return true;
}

/* Copy texels from or to memory. */
static void copy_texels(TiRuntime runtime, const TiImageSlice *image, const char *image_name,
                        const TiMemorySlice *memory, const char *memory_name, bool is_to_image) {
    uint64_t size;
    if (!image || !memory) {
        fail(TI_ERROR_ARGUMENT_NULL, "%s or %s is null", image_name, memory_name);
        return;
    }
    if (!check_handle(memory->memory, HANDLE_MEMORY, memory_name)) {
        return;
    }
    if (memory->memory->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "%s is of another runtime", memory_name);
        return;
    }
    if (!enter_image(runtime, image->image)) {
        return;
    }
    if (check_image_slice(image, image_name, &size) && check_slice(memory, memory_name)) {
        uint32_t texel_size = TEXEL_FORMATS[image->image->format].texel_size;
        if (size != memory->size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "%s has %llu bytes of texels, and %s has %llu", image_name,
                 (unsigned long long)size, memory_name, (unsigned long long)memory->size);
        } else if (memory->offset % texel_size) {
            fail(TI_ERROR_INVALID_ARGUMENT, "%s starts at byte %llu, which is no multiple of a texel's %u bytes",
                 memory_name, (unsigned long long)memory->offset, texel_size);
        } else if (size) {
            vulkan_copy_texels(runtime, image, memory, is_to_image);
        }
    }
    leave(runtime);
}

void ti_copy_memory_to_image(TiRuntime runtime, const TiImageSlice *dst_image, const TiMemorySlice *src_memory) {
    copy_texels(runtime, dst_image, "dst_image", src_memory, "src_memory", true);
}

void ti_copy_image_to_memory(TiRuntime runtime, const TiMemorySlice *dst_memory, const TiImageSlice *src_image) {
    copy_texels(runtime, src_image, "src_image", dst_memory, "dst_memory", false);
}

/* Return whether two parts of one image overlap along an axis. */
static bool do_overlap(uint32_t a, uint32_t b, uint32_t extent) {
    return a < b ? b - a < extent : a - b < extent;
}

void ti_copy_image_device_to_device(TiRuntime runtime, const TiImageSlice *dst_image, const TiImageSlice *src_image) {
    uint64_t dst_size, src_size;
    if (!dst_image || !src_image) {
        fail(TI_ERROR_ARGUMENT_NULL, "dst_image or src_image is null");
        return;
    }
    if (!check_handle(src_image->image, HANDLE_IMAGE, "src_image")) {
        return;
    }
    if (src_image->image->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "src_image is of another runtime");
        return;
    }
    if (!enter_image(runtime, dst_image->image)) {
        return;
    }
    if (check_image_slice(dst_image, "dst_image", &dst_size) && check_image_slice(src_image, "src_image", &src_size)) {
        const TiImageOffset *to = &dst_image->offset, *from = &src_image->offset;
        const TiImageExtent *extent = &src_image->extent;
        if (dst_image->image->format != src_image->image->format ||
            dst_image->image->dimension != src_image->image->dimension || !is_same_extent(&dst_image->extent, extent)) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_image and src_image have different formats, dimensions or extents");
        } else if (dst_image->image == src_image->image && do_overlap(to->x, from->x, extent->width) &&
                   do_overlap(to->y, from->y, extent->height) && do_overlap(to->z, from->z, extent->depth)) {
            fail(TI_ERROR_INVALID_ARGUMENT, "dst_image and src_image overlap");
        } else if (src_size) {
            vulkan_copy_image(runtime, dst_image, src_image);
        }
    }
    leave(runtime);
}
