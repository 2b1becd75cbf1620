/* --- Vulkan: kernels ---------------------------------------------------------------------------------------------- */

/* Return whether a device supports a SPIR-V capability. */
static bool vulkan_has(VulkanDevice *vulkan, const Capability *capability) {
    const VkPhysicalDeviceVulkan12Properties *properties = &vulkan->properties_12;
    const VkBool32 *controls[5];
    uint32_t i = capability->number;
    VkBool32 *feature = feature_of(&vulkan->features, capability->structure, capability->number);
    if (feature) {
        return *feature != 0;
    }
    controls[0] = properties->signedZeroInfNanPreserve;
    controls[1] = properties->denormPreserve;
    controls[2] = properties->denormFlushToZero;
    controls[3] = properties->roundingModeRTE;
    controls[4] = properties->roundingModeRTZ;
    switch (capability->structure) {
    case IN_SUBGROUP:
        return vulkan->properties_11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT &&
               vulkan->properties_11.subgroupSupportedOperations >> i & 1;
    case IN_FLOAT_CONTROLS: return controls[i][0] || controls[i][1] || controls[i][2];
    default: return capability->structure == ALWAYS;
    }
}

/* Check that the device supports all capabilities of a shader. */
static bool vulkan_check_capabilities(TiRuntime runtime, const char *name, const uint8_t *code, uint32_t size) {
    uint32_t position;
    size_t i;
    for (position = SPIRV_HEADER_WORDS; position < size / 4; position += little_u32(code + 4 * position) >> 16) {
        uint32_t word = little_u32(code + 4 * position), capability;
        if ((word & 0xffff) != OP_CAPABILITY) {
            break; /* the capabilities are the first instructions */
        }
        capability = little_u32(code + 4 * position + 4);
        for (i = 0; i < sizeof CAPABILITIES / sizeof *CAPABILITIES && CAPABILITIES[i].capability != capability; i++) {
        }
        if (i == sizeof CAPABILITIES / sizeof *CAPABILITIES) {
            return fail(TI_ERROR_NOT_SUPPORTED, "`%s` needs capability %u of SPIR-V, which this runtime does not know",
                        name, capability);
        }
        if (!vulkan_has(runtime->vulkan, &CAPABILITIES[i])) {
            return fail(TI_ERROR_INCOMPATIBLE_MODULE, "`%s` needs %s, which %s does not have", name,
                        CAPABILITIES[i].name, runtime->name);
        }
    }
    return true;
}

static uint32_t vulkan_descriptor_type(const TextureBinding *texture) {
    return texture->is_storage ? VK_DESCRIPTOR_TYPE_STORAGE_IMAGE : VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
}

/* Create the descriptor set layout of the textures of a kernel, in the order of their bindings. */
static bool vulkan_make_texture_layout(TiRuntime runtime, const KernelData *kernel, Program *program) {
    VulkanDevice *vulkan = runtime->vulkan;
    const VkPhysicalDeviceLimits *limits = &vulkan->properties.limits;
    VkDescriptorSetLayoutBinding bindings[MAX_TEXTURES];
    VkDescriptorSetLayoutCreateInfo info;
    uint32_t stored = 0, sampled, i;
    memset(bindings, 0, sizeof bindings);
    memset(&info, 0, sizeof info);
    for (i = 0; i < kernel->texture_count; i++) {
        stored += kernel->textures[i].is_storage;
        bindings[i].binding = i;
        bindings[i].descriptorType = vulkan_descriptor_type(&kernel->textures[i]);
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    sampled = kernel->texture_count - stored;
    if (stored > limits->maxPerStageDescriptorStorageImages || sampled > limits->maxPerStageDescriptorSampledImages ||
        sampled > limits->maxPerStageDescriptorSamplers) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "it samples %u textures and stores %u, more than %s takes", sampled,
                    stored, runtime->name);
    }
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.bindingCount = kernel->texture_count;
    info.pBindings = bindings;
    return vulkan_check(runtime, vulkan->api.CreateDescriptorSetLayout(vulkan->device, &info, NULL, &program->textures),
                        "making a layout of textures");
}

static bool vulkan_make_layout(TiRuntime runtime, const KernelData *kernel, Program *program) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, 0};
    VkPipelineLayoutCreateInfo info;
    if (kernel->texture_count && !vulkan_make_texture_layout(runtime, kernel, program)) {
        return false;
    }
    range.size = kernel->args_size <= MAX_PUSH_BYTES ? (uint32_t)rounded_up(kernel->args_size, 4) : 8;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = kernel->texture_count ? 1 : 0;
    info.pSetLayouts = &program->textures;
    info.pushConstantRangeCount = range.size ? 1 : 0;
    info.pPushConstantRanges = &range;
    return vulkan_check(runtime, vulkan->api.CreatePipelineLayout(vulkan->device, &info, NULL, &program->layout),
                        "making a layout");
}

static bool vulkan_make_pipeline(TiRuntime runtime, const Task *task, const CodeFile *file, VkPipelineLayout layout,
                                 VkPipeline *pipeline) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkShaderModuleCreateInfo shader;
    VkComputePipelineCreateInfo info;
    VkShaderModule module = 0;
    VkResult result;
    uint8_t *code;
    if (task->block_dim > vulkan->properties.limits.maxComputeWorkGroupInvocations ||
        task->block_dim > vulkan->properties.limits.maxComputeWorkGroupSize[0]) {
        return fail(TI_ERROR_INCOMPATIBLE_MODULE, "task `%s` has %u threads a group, more than %s takes", task->name,
                    task->block_dim, runtime->name);
    }
    code = zip_read(file->code);
    if (!code || !vulkan_check_capabilities(runtime, file->code->name, code, file->code->size)) {
        free(code);
        return false;
    }
    memset(&shader, 0, sizeof shader);
    memset(&info, 0, sizeof info);
    shader.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    shader.codeSize = file->code->size;
    shader.pCode = (const uint32_t *)(const void *)code; /* aligned by malloc */
    result = vulkan->api.CreateShaderModule(vulkan->device, &shader, NULL, &module);
    if (result >= 0) {
        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = module;
        info.stage.pName = task->entry;
        info.layout = layout;
        result = vulkan->api.CreateComputePipelines(vulkan->device, 0, 1, &info, NULL, pipeline);
        vulkan->api.DestroyShaderModule(vulkan->device, module, NULL);
    }
    free(code);
    return vulkan_check(runtime, result, "making a pipeline") ? true : fail_within("task `%s`", task->name);
}

static bool vulkan_build(TiRuntime runtime, TiKernel kernel) {
    Program *program = kernel->program;
    uint32_t i;
    program->pipelines = (VkPipeline *)allocate_zeroed(kernel->data->task_count * sizeof(VkPipeline));
    if (!program->pipelines || !vulkan_make_layout(runtime, kernel->data, program)) {
        return false;
    }
    for (i = 0; i < kernel->data->task_count; i++) {
        const Task *task = &kernel->data->tasks[i];
        if (!vulkan_make_pipeline(runtime, task, &kernel->data->files[task->file], program->layout,
                                  &program->pipelines[i])) {
            program->pipelines[i] = 0;
            return false;
        }
    }
    return true;
}

static void vulkan_free_program(TiRuntime runtime, Program *program) {
    VulkanDevice *vulkan = runtime->vulkan;
    uint32_t i;
    for (i = 0; program->pipelines && i < program->task_count; i++) {
        if (program->pipelines[i]) {
            vulkan->api.DestroyPipeline(vulkan->device, program->pipelines[i], NULL);
        }
    }
    if (program->layout) {
        vulkan->api.DestroyPipelineLayout(vulkan->device, program->layout, NULL);
    }
    if (program->textures) {
        vulkan->api.DestroyDescriptorSetLayout(vulkan->device, program->textures, NULL);
    }
    free(program->pipelines);
}
