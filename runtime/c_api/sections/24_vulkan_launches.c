/* --- Vulkan: launches --------------------------------------------------------------------------------------------- */

/* Find the grid of a task: groups a row, and rows. Every device supports 65,535 groups a row. */
static bool vulkan_grid(VulkanDevice *vulkan, TiKernel kernel, const Task *task, int64_t count, uint32_t *groups,
                        uint32_t *rows) {
    uint64_t group_iterations = (uint64_t)task->block_dim * task->items, needed;
    uint64_t most = GROUPS_X;
    *rows = 1;
    if (task->is_strided && !vulkan->is_software) { /* enough to keep a GPU busy; lavapipe ends long loops */
        most = smaller_u64(most, STRIDED_THREADS / task->block_dim);
    }
    if (count < 0) {
        *groups = (uint32_t)smaller_u64(most, STRIDED_GROUPS);
        return true;
    }
    needed = ((uint64_t)count + group_iterations - 1) / group_iterations;
    *groups = (uint32_t)smaller_u64(needed, most);
    if (needed <= most || task->is_strided) {
        return true;
    }
    if (!task->is_folded) {
        return fail(TI_ERROR_NOT_SUPPORTED,
                    "task `%s` of kernel `%s` needs %llu groups; its edited source has one row of %d", task->name,
                    kernel->data->name, (unsigned long long)needed, GROUPS_X);
    }
    *rows = (uint32_t)((needed + GROUPS_X - 1) / GROUPS_X);
    *groups = (uint32_t)((needed + *rows - 1) / *rows);
    return true;
}

/* Create the descriptor pool of a command buffer: one set a launch, for as many launches as it usually holds. */
static bool vulkan_make_descriptors(TiRuntime runtime, CommandSlot *slot) {
    VulkanDevice *vulkan = runtime->vulkan;
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, DESCRIPTORS},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_IMAGE, DESCRIPTORS}};
    VkDescriptorPoolCreateInfo info;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = BATCH;
    info.poolSizeCount = 2;
    info.pPoolSizes = sizes;
    if (!vulkan_check(runtime, vulkan->api.CreateDescriptorPool(vulkan->device, &info, NULL, &slot->descriptors),
                      "making a pool of descriptors")) {
        slot->descriptors = 0;
        return false;
    }
    return true;
}

/* Return the sampler of a texture. Default samplers, for null, are created when first needed. */
static VkSampler vulkan_sampler_of(TiRuntime runtime, const TiTexture *texture) {
    bool is_integer = TEXEL_FORMATS[texture->image->format].element != TI_DATA_TYPE_F32;
    bool is_linear = !is_integer && texture->image->is_interpolated;
    TiSampler *sampler = &runtime->vulkan->default_samplers[is_linear];
    if (texture->sampler) {
        return texture->sampler->handles[is_integer];
    }
    if (!*sampler) {
        TiSamplerCreateInfo info = {TI_FILTER_NEAREST, TI_FILTER_NEAREST, TI_ADDRESS_MODE_REPEAT, 0.0f};
        info.mag_filter = info.min_filter = is_linear ? TI_FILTER_LINEAR : TI_FILTER_NEAREST;
        *sampler = vulkan_make_sampler(runtime, &info);
    }
    return *sampler ? (*sampler)->handles[is_integer] : 0;
}

/* Write and bind the descriptor set for the textures of a launch. The command buffer has capacity for it. */
static bool vulkan_bind_textures(TiRuntime runtime, TiKernel kernel, CommandSlot *slot) {
    VulkanDevice *vulkan = runtime->vulkan;
    const KernelData *data = kernel->data;
    VkDescriptorImageInfo images[MAX_TEXTURES];
    VkWriteDescriptorSet writes[MAX_TEXTURES];
    VkDescriptorSetAllocateInfo info;
    VkDescriptorSet set = 0;
    uint32_t i;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = slot->descriptors;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &kernel->program->textures;
    if (!vulkan_check(runtime, vulkan->api.AllocateDescriptorSets(vulkan->device, &info, &set),
                      "making a descriptor set")) {
        return false;
    }
    slot->sets_used++;
    slot->descriptors_used += data->texture_count;
    memset(writes, 0, data->texture_count * sizeof *writes);
    for (i = 0; i < data->texture_count; i++) {
        const TiTexture *texture = kernel->textures[i];
        images[i].sampler = 0;
        images[i].imageView = texture->image->view;
        images[i].imageLayout = VK_IMAGE_LAYOUT_GENERAL;
        if (!data->textures[i].is_storage && !(images[i].sampler = vulkan_sampler_of(runtime, texture))) {
            return false;
        }
        writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[i].dstSet = set;
        writes[i].dstBinding = i;
        writes[i].descriptorCount = 1;
        writes[i].descriptorType = vulkan_descriptor_type(&data->textures[i]);
        writes[i].pImageInfo = &images[i];
    }
    vulkan->api.UpdateDescriptorSets(vulkan->device, data->texture_count, writes, 0, NULL);
    vulkan->api.CmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->program->layout, 0, 1,
                                      &set, 0, NULL);
    return true;
}

/* Return an open command buffer that has capacity for the textures of a launch, and for its arguments if they are too
   long for push constants. Null after a failure. */
static CommandSlot *vulkan_slot_for_launch(TiRuntime runtime, const KernelData *data) {
    CommandSlot *slot = runtime->vulkan->open;
    bool is_stored = data->args_size > MAX_PUSH_BYTES;
    bool is_full = slot && ((is_stored && slot->arguments_used + data->args_size > ARGUMENT_BLOCK_BYTES) ||
                            (data->texture_count &&
                             (slot->descriptors_used + data->texture_count > DESCRIPTORS || slot->sets_used == BATCH)));
    if (is_full && !vulkan_flush(runtime)) {
        return NULL;
    }
    slot = vulkan_open_slot(runtime);
    if (slot && is_stored && !slot->arguments) {
        slot->arguments = vulkan_make_host_visible(runtime, ARGUMENT_BLOCK_BYTES, ARGUMENT_KINDS);
        if (!slot->arguments) {
            return NULL;
        }
    }
    if (slot && data->texture_count && !slot->descriptors && !vulkan_make_descriptors(runtime, slot)) {
        return NULL;
    }
    return slot;
}

static bool vulkan_start(TiRuntime runtime, TiKernel kernel, const int64_t *counts) {
    VulkanDevice *vulkan = runtime->vulkan;
    const KernelData *data = kernel->data;
    CommandSlot *slot;
    const void *pushed = kernel->args;
    uint32_t pushed_size = (uint32_t)rounded_up(data->args_size, 4), groups, rows, i;
    uint64_t address;
    for (i = 0; i < data->task_count; i++) { /* before anything is recorded */
        if (!vulkan_grid(vulkan, kernel, &data->tasks[i], counts[i], &groups, &rows)) {
            return false;
        }
    }
    slot = vulkan_slot_for_launch(runtime, data);
    if (!slot || (data->texture_count && !vulkan_bind_textures(runtime, kernel, slot))) {
        return false;
    }
    if (data->args_size > MAX_PUSH_BYTES) {
        memcpy((uint8_t *)slot->arguments->visible + slot->arguments_used, kernel->args, data->args_size);
        address = slot->arguments->address + slot->arguments_used;
        slot->arguments_used = rounded_up(slot->arguments_used + data->args_size, ARGUMENT_ALIGNMENT);
        pushed = &address;
        pushed_size = sizeof address;
    }
    for (i = 0; i < data->task_count; i++) {
        vulkan_grid(vulkan, kernel, &data->tasks[i], counts[i], &groups, &rows);
        if (!groups) {
            continue;
        }
        vulkan_record(runtime);
        if (pushed_size) {
            vulkan->api.CmdPushConstants(slot->commands, kernel->program->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                         pushed_size, pushed);
        }
        vulkan->api.CmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel->program->pipelines[i]);
        vulkan->api.CmdDispatch(slot->commands, groups, rows, 1);
    }
    return vulkan_flush_if_full(runtime);
}

static const Backend VULKAN_BACKEND = {
    vulkan_enter, vulkan_leave, vulkan_close,        vulkan_allocate, vulkan_free_memory, vulkan_read, vulkan_write,
    vulkan_copy,  vulkan_build, vulkan_free_program, vulkan_start,    vulkan_flush,       vulkan_wait,
};
