/* --- Vulkan: errors, loading of functions ------------------------------------------------------------------------- */

static const char *vulkan_result_name(VkResult result) {
    static const struct {
        VkResult result;
        const char *name;
    } NAMES[] = {{-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},    {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
                 {-3, "VK_ERROR_INITIALIZATION_FAILED"}, {-4, "VK_ERROR_DEVICE_LOST"},
                 {-5, "VK_ERROR_MEMORY_MAP_FAILED"},     {-7, "VK_ERROR_EXTENSION_NOT_PRESENT"},
                 {-8, "VK_ERROR_FEATURE_NOT_PRESENT"},   {-9, "VK_ERROR_INCOMPATIBLE_DRIVER"},
                 {-10, "VK_ERROR_TOO_MANY_OBJECTS"}};
    size_t i;
    for (i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (NAMES[i].result == result) {
            return NAMES[i].name;
        }
    }
    return "an error of Vulkan";
}

static bool vulkan_check(TiRuntime runtime, VkResult result, const char *action) {
    if (result >= 0) {
        return true;
    }
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY) {
        return fail(TI_ERROR_OUT_OF_MEMORY, "%s has no memory left for %s", runtime->name, action);
    }
    if (result == VK_ERROR_DEVICE_LOST) {
        runtime->vulkan->is_lost = true;
        return fail(TI_ERROR_INVALID_STATE,
                    "%s was lost (VK_ERROR_DEVICE_LOST) in %s: a kernel reached outside an array, or ran too long",
                    runtime->name, action);
    }
    return fail(TI_ERROR_INVALID_STATE, "%s: %s failed: %s (%d)", runtime->name, action, vulkan_result_name(result),
                (int)result);
}

/* Load a function through the loader, the instance or the device. */
static bool vulkan_function(VulkanDevice *vulkan, void *destination, const char *name) {
    AnyFunction function = vulkan->device ? vulkan->api.GetDeviceProcAddr(vulkan->device, name)
                                          : vulkan->api.GetInstanceProcAddr(vulkan->instance, name);
    if (!function) {
        return fail(TI_ERROR_NOT_SUPPORTED, "the Vulkan driver has no %s", name);
    }
    memcpy(destination, &function, sizeof function);
    return true;
}

/* The offset of a function in VulkanApi, and its name. */
typedef struct FunctionEntry {
    size_t offset;
    const char *name;
} FunctionEntry;

static bool vulkan_functions(VulkanDevice *vulkan, const FunctionEntry *entries, size_t count) {
    for (; count; count--, entries++) {
        if (!vulkan_function(vulkan, (uint8_t *)&vulkan->api + entries->offset, entries->name)) {
            return false;
        }
    }
    return true;
}

static const FunctionEntry INSTANCE_FUNCTIONS[] = {
    {offsetof(VulkanApi, GetDeviceProcAddr), "vkGetDeviceProcAddr"},
    {offsetof(VulkanApi, DestroyInstance), "vkDestroyInstance"},
    {offsetof(VulkanApi, EnumeratePhysicalDevices), "vkEnumeratePhysicalDevices"},
    {offsetof(VulkanApi, GetPhysicalDeviceProperties), "vkGetPhysicalDeviceProperties"},
    {offsetof(VulkanApi, GetPhysicalDeviceProperties2), "vkGetPhysicalDeviceProperties2"},
    {offsetof(VulkanApi, GetPhysicalDeviceFeatures2), "vkGetPhysicalDeviceFeatures2"},
    {offsetof(VulkanApi, GetPhysicalDeviceQueueFamilyProperties), "vkGetPhysicalDeviceQueueFamilyProperties"},
    {offsetof(VulkanApi, GetPhysicalDeviceMemoryProperties), "vkGetPhysicalDeviceMemoryProperties"},
    {offsetof(VulkanApi, EnumerateDeviceExtensionProperties), "vkEnumerateDeviceExtensionProperties"},
    {offsetof(VulkanApi, CreateDevice), "vkCreateDevice"},
    {offsetof(VulkanApi, GetPhysicalDeviceFormatProperties), "vkGetPhysicalDeviceFormatProperties"},
    {offsetof(VulkanApi, GetPhysicalDeviceImageFormatProperties), "vkGetPhysicalDeviceImageFormatProperties"},
};

static const FunctionEntry DEVICE_FUNCTIONS[] = {
    {offsetof(VulkanApi, DestroyDevice), "vkDestroyDevice"},
    {offsetof(VulkanApi, GetDeviceQueue), "vkGetDeviceQueue"},
    {offsetof(VulkanApi, DeviceWaitIdle), "vkDeviceWaitIdle"},
    {offsetof(VulkanApi, CreateBuffer), "vkCreateBuffer"},
    {offsetof(VulkanApi, DestroyBuffer), "vkDestroyBuffer"},
    {offsetof(VulkanApi, GetBufferMemoryRequirements), "vkGetBufferMemoryRequirements"},
    {offsetof(VulkanApi, AllocateMemory), "vkAllocateMemory"},
    {offsetof(VulkanApi, FreeMemory), "vkFreeMemory"},
    {offsetof(VulkanApi, BindBufferMemory), "vkBindBufferMemory"},
    {offsetof(VulkanApi, MapMemory), "vkMapMemory"},
    {offsetof(VulkanApi, GetBufferDeviceAddress), "vkGetBufferDeviceAddress"},
    {offsetof(VulkanApi, CreateCommandPool), "vkCreateCommandPool"},
    {offsetof(VulkanApi, DestroyCommandPool), "vkDestroyCommandPool"},
    {offsetof(VulkanApi, AllocateCommandBuffers), "vkAllocateCommandBuffers"},
    {offsetof(VulkanApi, BeginCommandBuffer), "vkBeginCommandBuffer"},
    {offsetof(VulkanApi, EndCommandBuffer), "vkEndCommandBuffer"},
    {offsetof(VulkanApi, CreateFence), "vkCreateFence"},
    {offsetof(VulkanApi, DestroyFence), "vkDestroyFence"},
    {offsetof(VulkanApi, WaitForFences), "vkWaitForFences"},
    {offsetof(VulkanApi, GetFenceStatus), "vkGetFenceStatus"},
    {offsetof(VulkanApi, ResetFences), "vkResetFences"},
    {offsetof(VulkanApi, QueueSubmit), "vkQueueSubmit"},
    {offsetof(VulkanApi, CmdBindPipeline), "vkCmdBindPipeline"},
    {offsetof(VulkanApi, CmdPushConstants), "vkCmdPushConstants"},
    {offsetof(VulkanApi, CmdDispatch), "vkCmdDispatch"},
    {offsetof(VulkanApi, CmdPipelineBarrier), "vkCmdPipelineBarrier"},
    {offsetof(VulkanApi, CmdCopyBuffer), "vkCmdCopyBuffer"},
    {offsetof(VulkanApi, CmdFillBuffer), "vkCmdFillBuffer"},
    {offsetof(VulkanApi, CreateShaderModule), "vkCreateShaderModule"},
    {offsetof(VulkanApi, DestroyShaderModule), "vkDestroyShaderModule"},
    {offsetof(VulkanApi, CreatePipelineLayout), "vkCreatePipelineLayout"},
    {offsetof(VulkanApi, DestroyPipelineLayout), "vkDestroyPipelineLayout"},
    {offsetof(VulkanApi, CreateComputePipelines), "vkCreateComputePipelines"},
    {offsetof(VulkanApi, DestroyPipeline), "vkDestroyPipeline"},
    {offsetof(VulkanApi, CreateImage), "vkCreateImage"},
    {offsetof(VulkanApi, DestroyImage), "vkDestroyImage"},
    {offsetof(VulkanApi, GetImageMemoryRequirements), "vkGetImageMemoryRequirements"},
    {offsetof(VulkanApi, BindImageMemory), "vkBindImageMemory"},
    {offsetof(VulkanApi, CreateImageView), "vkCreateImageView"},
    {offsetof(VulkanApi, DestroyImageView), "vkDestroyImageView"},
    {offsetof(VulkanApi, CreateSampler), "vkCreateSampler"},
    {offsetof(VulkanApi, DestroySampler), "vkDestroySampler"},
    {offsetof(VulkanApi, CreateDescriptorSetLayout), "vkCreateDescriptorSetLayout"},
    {offsetof(VulkanApi, DestroyDescriptorSetLayout), "vkDestroyDescriptorSetLayout"},
    {offsetof(VulkanApi, CreateDescriptorPool), "vkCreateDescriptorPool"},
    {offsetof(VulkanApi, DestroyDescriptorPool), "vkDestroyDescriptorPool"},
    {offsetof(VulkanApi, ResetDescriptorPool), "vkResetDescriptorPool"},
    {offsetof(VulkanApi, AllocateDescriptorSets), "vkAllocateDescriptorSets"},
    {offsetof(VulkanApi, UpdateDescriptorSets), "vkUpdateDescriptorSets"},
    {offsetof(VulkanApi, CmdBindDescriptorSets), "vkCmdBindDescriptorSets"},
    {offsetof(VulkanApi, CmdClearColorImage), "vkCmdClearColorImage"},
    {offsetof(VulkanApi, CmdCopyImage), "vkCmdCopyImage"},
    {offsetof(VulkanApi, CmdCopyBufferToImage), "vkCmdCopyBufferToImage"},
    {offsetof(VulkanApi, CmdCopyImageToBuffer), "vkCmdCopyImageToBuffer"},
};
