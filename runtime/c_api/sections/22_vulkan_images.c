/* --- Vulkan: images and samplers ---------------------------------------------------------------------------------- */

/* Images stay in the layout GENERAL, which allows kernels to sample and store them and copies to access them: a launch
   need not know how an image was used before. */

static const VkImageSubresourceRange WHOLE_IMAGE = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
static const VkImageSubresourceLayers ONE_LEVEL = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};

static bool fail_format(TiRuntime runtime, TiFormat format, const char *action) {
    return fail(TI_ERROR_NOT_SUPPORTED, "%s has no images of the format %s that kernels %s", runtime->name,
                format_name(format), action);
}

/* Find the supported usage of images of a format and extent (VkImageUsageFlags). */
static bool vulkan_image_usage(TiRuntime runtime, TiImage image, bool is_stored, uint32_t *usage) {
    enum {
        NEEDED = VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | VK_FORMAT_FEATURE_TRANSFER_SRC_BIT |
            VK_FORMAT_FEATURE_TRANSFER_DST_BIT,
        TILING_OPTIMAL = 0
    };
    VulkanDevice *vulkan = runtime->vulkan;
    const TexelFormat *format = &TEXEL_FORMATS[image->format];
    VkFormatProperties properties;
    VkImageFormatProperties limits;
    VkResult result;
    uint64_t size = (uint64_t)image->extent.width * image->extent.height; /* fits in 64 bits */
    memset(&properties, 0, sizeof properties);
    memset(&limits, 0, sizeof limits);
    if (format->vulkan) { /* few devices support three channels */
        vulkan->api.GetPhysicalDeviceFormatProperties(vulkan->physical, format->vulkan, &properties);
    }
    if ((properties.optimalTilingFeatures & NEEDED) != NEEDED) {
        return fail_format(runtime, image->format, "sample");
    }
    image->is_storage = format->spirv && properties.optimalTilingFeatures & VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT;
    image->is_interpolated = format->element == TI_DATA_TYPE_F32 &&
                             properties.optimalTilingFeatures & VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT;
    if (is_stored && !image->is_storage) {
        return fail_format(runtime, image->format, "store");
    }
    *usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    *usage |= image->is_storage ? (uint32_t)VK_IMAGE_USAGE_STORAGE_BIT : 0;
    result = vulkan->api.GetPhysicalDeviceImageFormatProperties(
        vulkan->physical, format->vulkan, (uint32_t)image->dimension, TILING_OPTIMAL, *usage, 0, &limits);
    if (result < 0) {
        return result == VK_ERROR_FORMAT_NOT_SUPPORTED
                   ? fail_format(runtime, image->format, "sample")
                   : vulkan_check(runtime, result, "asking for the limits of images");
    }
    if (image->extent.width > limits.maxExtent.width || image->extent.height > limits.maxExtent.height ||
        image->extent.depth > limits.maxExtent.depth) {
        return fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE,
                    "%s has no images of %u x %u x %u texels; they have at most %u x %u x %u", runtime->name,
                    image->extent.width, image->extent.height, image->extent.depth, limits.maxExtent.width,
                    limits.maxExtent.height, limits.maxExtent.depth);
    }
    return size <= limits.maxResourceSize / image->extent.depth / format->texel_size
               ? true
               : fail(TI_ERROR_OUT_OF_MEMORY, "%s makes no image of %u x %u x %u texels", runtime->name,
                      image->extent.width, image->extent.height, image->extent.depth);
}

/* Record the transition of an image to the layout GENERAL, and its clearing. */
static bool vulkan_clear_image(TiRuntime runtime, TiImage image) {
    const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    const uint32_t work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    VulkanDevice *vulkan = runtime->vulkan;
    VkImageMemoryBarrier barrier;
    CommandSlot *slot = vulkan_record(runtime);
    if (!slot) {
        return false;
    }
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER;
    barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    barrier.newLayout = VK_IMAGE_LAYOUT_GENERAL;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = UINT32_MAX;
    barrier.image = image->image;
    barrier.subresourceRange = WHOLE_IMAGE;
    vulkan->api.CmdPipelineBarrier(slot->commands, work, work, 0, 0, NULL, 0, NULL, 1, &barrier);
    vulkan->api.CmdClearColorImage(slot->commands, image->image, VK_IMAGE_LAYOUT_GENERAL, zeros, 1, &WHOLE_IMAGE);
    return true;
}

/* Create a zeroed image with its own memory. The caller frees it even after a failure. */
static bool vulkan_make_image(TiRuntime runtime, TiImage image, bool is_stored) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkImageCreateInfo info;
    VkImageViewCreateInfo view;
    VkMemoryRequirements needs;
    memset(&info, 0, sizeof info);
    memset(&view, 0, sizeof view);
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.imageType = (uint32_t)image->dimension;
    info.format = TEXEL_FORMATS[image->format].vulkan;
    info.extent.width = image->extent.width;
    info.extent.height = image->extent.height;
    info.extent.depth = image->extent.depth;
    info.mipLevels = info.arrayLayers = info.samples = 1;
    if (!vulkan_image_usage(runtime, image, is_stored, &info.usage)) {
        return false;
    }
    if (!vulkan_check(runtime, vulkan->api.CreateImage(vulkan->device, &info, NULL, &image->image), "an image")) {
        image->image = 0;
        return false;
    }
    vulkan->api.GetImageMemoryRequirements(vulkan->device, image->image, &needs);
    if (vulkan_allocate_memory(runtime, &needs, DATA_LOCAL, NULL, &image->memory) < 0 ||
        !vulkan_check(runtime, vulkan->api.BindImageMemory(vulkan->device, image->image, image->memory, 0),
                      "binding memory")) {
        return false;
    }
    view.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    view.image = image->image;
    view.viewType = (uint32_t)image->dimension;
    view.format = info.format;
    view.subresourceRange = WHOLE_IMAGE;
    if (!vulkan_check(runtime, vulkan->api.CreateImageView(vulkan->device, &view, NULL, &image->view),
                      "making a view of an image")) {
        image->view = 0;
        return false;
    }
    return vulkan_clear_image(runtime, image);
}

/* Free an image that no launch uses any more. */
static void vulkan_free_image(TiImage image) {
    VulkanDevice *vulkan = image->runtime->vulkan;
    if (image->view) {
        vulkan->api.DestroyImageView(vulkan->device, image->view, NULL);
    }
    if (image->image) {
        vulkan->api.DestroyImage(vulkan->device, image->image, NULL);
    }
    if (image->memory) {
        vulkan->api.FreeMemory(vulkan->device, image->memory, NULL);
    }
    handle_release(image);
}

/* Free a sampler that no launch uses any more. */
static void vulkan_free_sampler(TiSampler sampler) {
    VulkanDevice *vulkan = sampler->runtime->vulkan;
    int i;
    for (i = 0; i < 2; i++) {
        if (sampler->handles[i]) {
            vulkan->api.DestroySampler(vulkan->device, sampler->handles[i], NULL);
        }
    }
    handle_release(sampler);
}

/* Create a sampler and add it to the list of its runtime. Vulkan and Taichi number filters and address modes alike. */
static TiSampler vulkan_make_sampler(TiRuntime runtime, const TiSamplerCreateInfo *create_info) {
    TiSampler sampler = (TiSampler)handle_acquire(HANDLE_SAMPLER, sizeof(struct TiSampler_t));
    VulkanDevice *vulkan = runtime->vulkan;
    VkSamplerCreateInfo info;
    int i;
    if (!sampler) {
        return NULL;
    }
    sampler->runtime = runtime;
    sampler->info = *create_info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO;
    info.magFilter = (uint32_t)create_info->mag_filter;
    info.minFilter = (uint32_t)create_info->min_filter;
    info.addressModeU = info.addressModeV = info.addressModeW = (uint32_t)create_info->address_mode;
    for (i = 0; i < 2; i++) {
        info.borderColor = i ? VK_BORDER_COLOR_INT_TRANSPARENT_BLACK : VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK;
        if (!vulkan_check(runtime, vulkan->api.CreateSampler(vulkan->device, &info, NULL, &sampler->handles[i]),
                          "making a sampler")) {
            sampler->handles[i] = 0;
            vulkan_free_sampler(sampler);
            return NULL;
        }
    }
    sampler->next = runtime->samplers;
    if (sampler->next) {
        sampler->next->previous = sampler;
    }
    runtime->samplers = sampler;
    return sampler;
}

static VkOffset3D vulkan_offset(const TiImageOffset *offset) {
    VkOffset3D result;
    result.x = (int32_t)offset->x;
    result.y = (int32_t)offset->y;
    result.z = (int32_t)offset->z;
    return result;
}

static VkExtent3D vulkan_extent(const TiImageExtent *extent) {
    VkExtent3D result = {extent->width, extent->height, extent->depth};
    return result;
}

/* Copy texels between an image and memory, where they are contiguous. */
static bool vulkan_copy_texels(TiRuntime runtime, const TiImageSlice *slice, const TiMemorySlice *packed,
                               bool is_to_image) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *slot = vulkan_record(runtime);
    VkBufferImageCopy region;
    if (!slot) {
        return false;
    }
    memset(&region, 0, sizeof region);
    region.bufferOffset = packed->offset;
    region.imageSubresource = ONE_LEVEL;
    region.imageOffset = vulkan_offset(&slice->offset);
    region.imageExtent = vulkan_extent(&slice->extent);
    if (is_to_image) {
        vulkan->api.CmdCopyBufferToImage(slot->commands, packed->memory->buffer, slice->image->image,
                                         VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    } else {
        vulkan->api.CmdCopyImageToBuffer(slot->commands, slice->image->image, VK_IMAGE_LAYOUT_GENERAL,
                                         packed->memory->buffer, 1, &region);
    }
    return vulkan_flush_if_full(runtime);
}

static bool vulkan_copy_image(TiRuntime runtime, const TiImageSlice *to, const TiImageSlice *from) {
    CommandSlot *slot = vulkan_record(runtime);
    VkImageCopy region;
    if (!slot) {
        return false;
    }
    region.srcSubresource = region.dstSubresource = ONE_LEVEL;
    region.srcOffset = vulkan_offset(&from->offset);
    region.dstOffset = vulkan_offset(&to->offset);
    region.extent = vulkan_extent(&from->extent);
    runtime->vulkan->api.CmdCopyImage(slot->commands, from->image->image, VK_IMAGE_LAYOUT_GENERAL, to->image->image,
                                      VK_IMAGE_LAYOUT_GENERAL, 1, &region);
    return vulkan_flush_if_full(runtime);
}
