/* --- Vulkan: memory, command buffers, copies ---------------------------------------------------------------------- */

/* Allocate device memory for a buffer or an image. kinds: properties of memory, the best first; ends with -1. flags:
   null or a VkMemoryAllocateFlagsInfo. Return the properties of the allocation, -1 after a failure. */
static int vulkan_allocate_memory(TiRuntime runtime, const VkMemoryRequirements *needs, const int *kinds,
                                  const void *flags, VkDeviceMemory *memory) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkMemoryAllocateInfo allocation;
    VkResult result;
    int type = -1;
    while (*kinds >= 0 && type < 0) {
        type = vulkan_memory_type(vulkan, needs->memoryTypeBits, (uint32_t)*kinds++);
    }
    if (type < 0) {
        fail(TI_ERROR_NOT_SUPPORTED, "%s has no memory of the kind that is needed", runtime->name);
        return -1;
    }
    if (needs->size > vulkan->memory.memoryHeaps[vulkan->memory.memoryTypes[type].heapIndex].size) {
        fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory", runtime->name, (unsigned long long)needs->size);
        return -1;
    }
    memset(&allocation, 0, sizeof allocation);
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.pNext = flags;
    allocation.allocationSize = needs->size;
    allocation.memoryTypeIndex = (uint32_t)type;
    result = vulkan->api.AllocateMemory(vulkan->device, &allocation, NULL, memory);
    if (result >= 0) {
        return kinds[-1];
    }
    *memory = 0;
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory left", runtime->name,
             (unsigned long long)needs->size);
    } else {
        vulkan_check(runtime, result, "allocating memory");
    }
    return -1;
}

/* Create a buffer with its own memory. kinds: properties of memory, the best first; ends with -1. */
static bool vulkan_make_buffer(TiRuntime runtime, TiMemory memory, const int *kinds) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkBufferCreateInfo info;
    VkMemoryRequirements needs;
    VkMemoryAllocateFlagsInfo flags;
    VkBufferDeviceAddressInfo address;
    int kind;
    if (memory->size > (uint64_t)INT64_MAX) { /* drivers round sizes up, some of them with an overflow */
        return fail(TI_ERROR_OUT_OF_MEMORY, "%s has no %llu bytes of memory", runtime->name,
                    (unsigned long long)memory->size);
    }
    memset(&info, 0, sizeof info);
    memset(&flags, 0, sizeof flags);
    memset(&address, 0, sizeof address);
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = rounded_up(larger_u64(memory->size, 16), 4);
    info.usage = BUFFER_USAGE;
    if (!vulkan_check(runtime, vulkan->api.CreateBuffer(vulkan->device, &info, NULL, &memory->buffer),
                      "making a buffer")) {
        memory->buffer = 0;
        return false;
    }
    vulkan->api.GetBufferMemoryRequirements(vulkan->device, memory->buffer, &needs);
    flags.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO;
    flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
    kind = vulkan_allocate_memory(runtime, &needs, kinds, &flags, &memory->memory);
    if (kind < 0) {
        return false;
    }
    if (!vulkan_check(runtime, vulkan->api.BindBufferMemory(vulkan->device, memory->buffer, memory->memory, 0),
                      "binding memory")) {
        return false;
    }
    if (kind & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT &&
        !vulkan_check(runtime,
                      vulkan->api.MapMemory(vulkan->device, memory->memory, 0, UINT64_MAX, 0, &memory->visible),
                      "mapping memory")) {
        return false;
    }
    address.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO;
    address.buffer = memory->buffer;
    memory->address = vulkan->api.GetBufferDeviceAddress(vulkan->device, &address);
    return true;
}

static void vulkan_free_memory(TiRuntime runtime, TiMemory memory) {
    VulkanDevice *vulkan = runtime->vulkan;
    if (memory->buffer) {
        vulkan->api.DestroyBuffer(vulkan->device, memory->buffer, NULL);
    }
    if (memory->memory) {
        vulkan->api.FreeMemory(vulkan->device, memory->memory, NULL);
    }
    memory->buffer = memory->memory = 0;
    memory->visible = NULL;
}

static bool vulkan_wait_slot(TiRuntime runtime, CommandSlot *slot) {
    VulkanDevice *vulkan = runtime->vulkan;
    if (!slot->is_in_flight) {
        return true;
    }
    slot->is_in_flight = false;
    return vulkan_check(runtime, vulkan->api.WaitForFences(vulkan->device, 1, &slot->fence, 1, UINT64_MAX),
                        "waiting") &&
           vulkan_check(runtime, vulkan->api.ResetFences(vulkan->device, 1, &slot->fence), "resetting a fence");
}

/* Record a barrier between the commands before and after it. */
static void vulkan_barrier(VulkanDevice *vulkan, VkCommandBuffer commands, bool is_for_host) {
    VkMemoryBarrier barrier;
    const uint32_t work = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    memset(&barrier, 0, sizeof barrier);
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
    barrier.dstAccessMask = is_for_host ? (uint32_t)VK_ACCESS_HOST_READ_BIT
                                        : (uint32_t)(VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT);
    vulkan->api.CmdPipelineBarrier(commands, work, is_for_host ? (uint32_t)VK_PIPELINE_STAGE_HOST_BIT : work, 0, 1,
                                   &barrier, 0, NULL, 0, NULL);
}

/* Return the open command buffer, or open the next one that is free; null after a failure. */
static CommandSlot *vulkan_open_slot(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkCommandBufferBeginInfo info;
    CommandSlot *slot = &vulkan->slots[vulkan->next_slot];
    if (vulkan->open) {
        return vulkan->open;
    }
    if (!vulkan_wait_slot(runtime, slot)) {
        return NULL;
    }
    if (slot->sets_used && !vulkan_check(runtime, vulkan->api.ResetDescriptorPool(vulkan->device, slot->descriptors, 0),
                                         "freeing descriptor sets")) {
        return NULL;
    }
    slot->sets_used = slot->descriptors_used = 0;
    slot->arguments_used = 0;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
    if (!vulkan_check(runtime, vulkan->api.BeginCommandBuffer(slot->commands, &info), "recording")) {
        return NULL;
    }
    vulkan->recorded = 0;
    vulkan->next_slot = (vulkan->next_slot + 1) % SLOTS;
    vulkan->open = slot;
    return slot;
}

/* Return the open command buffer with a barrier after all earlier commands; null after a failure. */
static CommandSlot *vulkan_record(TiRuntime runtime) {
    CommandSlot *slot = vulkan_open_slot(runtime);
    if (slot) {
        vulkan_barrier(runtime->vulkan, slot->commands, false);
        runtime->vulkan->recorded++;
    }
    return slot;
}

static bool vulkan_flush(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *slot = vulkan->open;
    VkSubmitInfo info;
    if (!slot) {
        return true;
    }
    vulkan->open = NULL;
    vulkan_barrier(vulkan, slot->commands, true);
    if (!vulkan_check(runtime, vulkan->api.EndCommandBuffer(slot->commands), "recording")) {
        return false;
    }
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = 1;
    info.pCommandBuffers = &slot->commands;
    slot->is_in_flight =
        vulkan_check(runtime, vulkan->api.QueueSubmit(vulkan->queue, 1, &info, slot->fence), "starting work");
    return slot->is_in_flight;
}

/* Submit the open command buffer if it holds enough. If the device is so far behind that no other command buffer is
   free, recording goes on instead of waiting for one. */
static bool vulkan_flush_if_full(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *next = &vulkan->slots[vulkan->next_slot];
    if (vulkan->recorded < BATCH || (vulkan->recorded < MAX_RECORDED && next->is_in_flight &&
                                     vulkan->api.GetFenceStatus(vulkan->device, next->fence) == VK_NOT_READY)) {
        return true;
    }
    return vulkan_flush(runtime);
}

static bool vulkan_wait(TiRuntime runtime) {
    bool is_good = vulkan_flush(runtime);
    int i;
    for (i = 0; i < SLOTS; i++) {
        is_good = vulkan_wait_slot(runtime, &runtime->vulkan->slots[i]) && is_good;
    }
    return is_good;
}

static const int DATA_MAPPED[] = {MEMORY_LOCAL | MEMORY_CACHED, MEMORY_LOCAL, 0, -1};
static const int DATA_LOCAL[] = {MEMORY_LOCAL, 0, -1};
static const int STAGING_KINDS[] = {MEMORY_CACHED, MEMORY_VISIBLE, -1};
static const int ARGUMENT_KINDS[] = {MEMORY_LOCAL | MEMORY_VISIBLE, MEMORY_VISIBLE, -1};

static bool vulkan_allocate(TiRuntime runtime, TiMemory memory) {
    VulkanDevice *vulkan = runtime->vulkan;
    CommandSlot *slot;
    if (!vulkan_make_buffer(runtime, memory, vulkan->is_mapped ? DATA_MAPPED : DATA_LOCAL)) {
        return false;
    }
    slot = vulkan_record(runtime);
    if (!slot) {
        return false;
    }
    vulkan->api.CmdFillBuffer(slot->commands, memory->buffer, 0, UINT64_MAX, 0);
    return true;
}

/* Allocate memory that the host can access, for the runtime's own use. */
static TiMemory vulkan_make_host_visible(TiRuntime runtime, uint64_t size, const int *kinds) {
    TiMemory memory = (TiMemory)handle_acquire(HANDLE_MEMORY, sizeof(struct TiMemory_t));
    if (!memory) {
        return NULL;
    }
    memory->runtime = runtime;
    memory->size = size;
    if (!vulkan_make_buffer(runtime, memory, kinds)) {
        vulkan_free_memory(runtime, memory);
        handle_release(memory);
        return NULL;
    }
    memory_list(memory);
    return memory;
}

static bool vulkan_record_copy(TiRuntime runtime, VkBuffer to, uint64_t to_offset, VkBuffer from, uint64_t from_offset,
                               uint64_t size) {
    CommandSlot *slot = vulkan_record(runtime);
    VkBufferCopy region = {from_offset, to_offset, size};
    if (!slot) {
        return false;
    }
    runtime->vulkan->api.CmdCopyBuffer(slot->commands, from, to, 1, &region);
    return true;
}

static bool vulkan_staging(TiRuntime runtime) {
    if (!runtime->vulkan->staging) {
        runtime->vulkan->staging = vulkan_make_host_visible(runtime, STAGING_BYTES, STAGING_KINDS);
    }
    return runtime->vulkan->staging != NULL;
}

static bool vulkan_read(TiRuntime runtime, TiMemory memory, uint64_t offset, void *to, uint64_t size) {
    if (memory->visible) {
        if (!vulkan_wait(runtime)) {
            return false;
        }
        memcpy(to, (const uint8_t *)memory->visible + offset, size);
        return true;
    }
    if (!vulkan_staging(runtime)) {
        return false;
    }
    while (size) {
        uint64_t piece = smaller_u64(size, STAGING_BYTES);
        TiMemory staging = runtime->vulkan->staging;
        if (!vulkan_record_copy(runtime, staging->buffer, 0, memory->buffer, offset, piece) || !vulkan_wait(runtime)) {
            return false;
        }
        memcpy(to, staging->visible, piece);
        to = (uint8_t *)to + piece;
        offset += piece;
        size -= piece;
    }
    return true;
}

static bool vulkan_write(TiRuntime runtime, TiMemory memory, uint64_t offset, const void *from, uint64_t size) {
    if (memory->visible) {
        if (!vulkan_wait(runtime)) {
            return false;
        }
        memcpy((uint8_t *)memory->visible + offset, from, size);
        return true;
    }
    if (!vulkan_staging(runtime)) {
        return false;
    }
    while (size) {
        uint64_t piece = smaller_u64(size, STAGING_BYTES);
        TiMemory staging = runtime->vulkan->staging;
        if (!vulkan_wait(runtime)) { /* until the staging memory is free again */
            return false;
        }
        memcpy(staging->visible, from, piece);
        if (!vulkan_record_copy(runtime, memory->buffer, offset, staging->buffer, 0, piece)) {
            return false;
        }
        from = (const uint8_t *)from + piece;
        offset += piece;
        size -= piece;
    }
    return true;
}

static bool vulkan_copy(TiRuntime runtime, TiMemory to, uint64_t to_offset, TiMemory from, uint64_t from_offset,
                        uint64_t size) {
    return vulkan_record_copy(runtime, to->buffer, to_offset, from->buffer, from_offset, size) &&
           vulkan_flush_if_full(runtime);
}
