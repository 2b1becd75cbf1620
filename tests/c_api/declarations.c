/* Print sizes and offsets of what shadesmith.c declares of Vulkan. */

#include "shadesmith.c"

#define SIZE(type, name) printf("size %s %zu\n", name, sizeof(type))
#define PLACE(type, member) printf("offset %s %s %zu\n", #type, #member, offsetof(type, member))

int main(void) {
    size_t i;
    SIZE(VkApplicationInfo, "VkApplicationInfo");
    SIZE(VkInstanceCreateInfo, "VkInstanceCreateInfo");
    SIZE(VkPhysicalDeviceLimits, "VkPhysicalDeviceLimits");
    SIZE(VkPhysicalDeviceProperties, "VkPhysicalDeviceProperties");
    SIZE(VkPhysicalDeviceProperties2, "VkPhysicalDeviceProperties2");
    SIZE(VkPhysicalDeviceVulkan11Properties, "VkPhysicalDeviceVulkan11Properties");
    SIZE(VkPhysicalDeviceVulkan12Properties, "VkPhysicalDeviceVulkan12Properties");
    SIZE(Features10, "VkPhysicalDeviceFeatures2");
    SIZE(Features11, "VkPhysicalDeviceVulkan11Features");
    SIZE(Features12, "VkPhysicalDeviceVulkan12Features");
    SIZE(FeaturesAtomic, "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT");
    SIZE(FeaturesAtomic, "VkPhysicalDeviceShaderAtomicFloat2FeaturesEXT");
    SIZE(VkQueueFamilyProperties, "VkQueueFamilyProperties");
    SIZE(VkPhysicalDeviceMemoryProperties, "VkPhysicalDeviceMemoryProperties");
    SIZE(VkExtensionProperties, "VkExtensionProperties");
    SIZE(VkDeviceQueueCreateInfo, "VkDeviceQueueCreateInfo");
    SIZE(VkDeviceCreateInfo, "VkDeviceCreateInfo");
    SIZE(VkBufferCreateInfo, "VkBufferCreateInfo");
    SIZE(VkMemoryRequirements, "VkMemoryRequirements");
    SIZE(VkMemoryAllocateFlagsInfo, "VkMemoryAllocateFlagsInfo");
    SIZE(VkMemoryAllocateInfo, "VkMemoryAllocateInfo");
    SIZE(VkBufferDeviceAddressInfo, "VkBufferDeviceAddressInfo");
    SIZE(VkCommandPoolCreateInfo, "VkCommandPoolCreateInfo");
    SIZE(VkCommandBufferAllocateInfo, "VkCommandBufferAllocateInfo");
    SIZE(VkCommandBufferBeginInfo, "VkCommandBufferBeginInfo");
    SIZE(VkFenceCreateInfo, "VkFenceCreateInfo");
    SIZE(VkSubmitInfo, "VkSubmitInfo");
    SIZE(VkMemoryBarrier, "VkMemoryBarrier");
    SIZE(VkBufferCopy, "VkBufferCopy");
    SIZE(VkShaderModuleCreateInfo, "VkShaderModuleCreateInfo");
    SIZE(VkPushConstantRange, "VkPushConstantRange");
    SIZE(VkPipelineLayoutCreateInfo, "VkPipelineLayoutCreateInfo");
    SIZE(VkPipelineShaderStageCreateInfo, "VkPipelineShaderStageCreateInfo");
    SIZE(VkComputePipelineCreateInfo, "VkComputePipelineCreateInfo");
    SIZE(VkExtent3D, "VkExtent3D");
    SIZE(VkOffset3D, "VkOffset3D");
    SIZE(VkFormatProperties, "VkFormatProperties");
    SIZE(VkImageFormatProperties, "VkImageFormatProperties");
    SIZE(VkImageCreateInfo, "VkImageCreateInfo");
    SIZE(VkImageSubresourceRange, "VkImageSubresourceRange");
    SIZE(VkImageSubresourceLayers, "VkImageSubresourceLayers");
    SIZE(VkImageViewCreateInfo, "VkImageViewCreateInfo");
    SIZE(VkSamplerCreateInfo, "VkSamplerCreateInfo");
    SIZE(VkImageMemoryBarrier, "VkImageMemoryBarrier");
    SIZE(VkBufferImageCopy, "VkBufferImageCopy");
    SIZE(VkImageCopy, "VkImageCopy");
    SIZE(VkDescriptorSetLayoutBinding, "VkDescriptorSetLayoutBinding");
    SIZE(VkDescriptorSetLayoutCreateInfo, "VkDescriptorSetLayoutCreateInfo");
    SIZE(VkDescriptorPoolSize, "VkDescriptorPoolSize");
    SIZE(VkDescriptorPoolCreateInfo, "VkDescriptorPoolCreateInfo");
    SIZE(VkDescriptorSetAllocateInfo, "VkDescriptorSetAllocateInfo");
    SIZE(VkDescriptorImageInfo, "VkDescriptorImageInfo");
    SIZE(VkWriteDescriptorSet, "VkWriteDescriptorSet");
    PLACE(VkPhysicalDeviceProperties, deviceType);
    PLACE(VkPhysicalDeviceProperties, deviceName);
    PLACE(VkPhysicalDeviceProperties, limits);
    PLACE(VkPhysicalDeviceLimits, maxPushConstantsSize);
    PLACE(VkPhysicalDeviceLimits, maxComputeWorkGroupCount);
    PLACE(VkPhysicalDeviceLimits, maxComputeWorkGroupInvocations);
    PLACE(VkPhysicalDeviceLimits, maxComputeWorkGroupSize);
    PLACE(VkPhysicalDeviceVulkan11Properties, subgroupSize);
    PLACE(VkPhysicalDeviceVulkan11Properties, subgroupSupportedStages);
    PLACE(VkPhysicalDeviceVulkan11Properties, subgroupSupportedOperations);
    PLACE(VkPhysicalDeviceMemoryProperties, memoryHeapCount);
    PLACE(VkPhysicalDeviceMemoryProperties, memoryHeaps);
    PLACE(VkDeviceCreateInfo, enabledExtensionCount);
    PLACE(VkDeviceCreateInfo, ppEnabledExtensionNames);
    PLACE(VkBufferCreateInfo, usage);
    PLACE(VkSubmitInfo, pCommandBuffers);
    PLACE(VkComputePipelineCreateInfo, layout);
    PLACE(VkPipelineShaderStageCreateInfo, pName);
    PLACE(VkPhysicalDeviceLimits, maxPerStageDescriptorSamplers);
    PLACE(VkPhysicalDeviceLimits, maxPerStageDescriptorSampledImages);
    PLACE(VkPhysicalDeviceLimits, maxPerStageDescriptorStorageImages);
    PLACE(VkImageFormatProperties, maxResourceSize);
    PLACE(VkImageCreateInfo, samples);
    PLACE(VkImageCreateInfo, usage);
    PLACE(VkImageViewCreateInfo, subresourceRange);
    PLACE(VkSamplerCreateInfo, addressModeU);
    PLACE(VkSamplerCreateInfo, borderColor);
    PLACE(VkImageMemoryBarrier, subresourceRange);
    PLACE(VkImageMemoryBarrier, newLayout);
    PLACE(VkBufferImageCopy, imageOffset);
    PLACE(VkBufferImageCopy, imageExtent);
    PLACE(VkImageCopy, dstOffset);
    PLACE(VkImageCopy, extent);
    PLACE(VkDescriptorSetLayoutBinding, stageFlags);
    PLACE(VkDescriptorSetLayoutCreateInfo, pBindings);
    PLACE(VkDescriptorPoolCreateInfo, maxSets);
    PLACE(VkDescriptorSetAllocateInfo, pSetLayouts);
    PLACE(VkDescriptorImageInfo, imageLayout);
    PLACE(VkWriteDescriptorSet, dstBinding);
    PLACE(VkWriteDescriptorSet, pImageInfo);
    printf("controls %zu\n", offsetof(VkPhysicalDeviceVulkan12Properties, signedZeroInfNanPreserve));
    for (i = 0; i < sizeof CAPABILITIES / sizeof *CAPABILITIES; i++) {
        printf("capability %u %s %d %u\n", CAPABILITIES[i].capability, CAPABILITIES[i].name, (int)CAPABILITIES[i].structure,
               CAPABILITIES[i].number);
    }
    for (i = 1; i < FORMAT_COUNT; i++) {
        printf("format %zu %s %u %u %u %s\n", i, TEXEL_FORMATS[i].name, TEXEL_FORMATS[i].vulkan, TEXEL_FORMATS[i].spirv,
               TEXEL_FORMATS[i].texel_size, type_name(TEXEL_FORMATS[i].element));
    }
    for (i = 1; i < sizeof INSTRUCTIONS / sizeof *INSTRUCTIONS; i++) {
        if (INSTRUCTIONS[i - 1].last >= INSTRUCTIONS[i].first) {
            printf("instructions are out of order\n");
        }
    }
    return 0;
}
