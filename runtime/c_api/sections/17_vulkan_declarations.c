/* --- Vulkan: declarations ----------------------------------------------------------------------------------------- */

/* The part of vulkan_core.h that is used, with its names. Source: Vulkan 1.2 specification. */
typedef uint32_t VkBool32;
typedef uint64_t VkDeviceSize;
typedef uint64_t VkDeviceAddress;
typedef int32_t VkResult;
typedef struct VkInstance_T *VkInstance;
typedef struct VkPhysicalDevice_T *VkPhysicalDevice;
typedef struct VkDevice_T *VkDevice;
typedef struct VkQueue_T *VkQueue;
typedef struct VkCommandBuffer_T *VkCommandBuffer;
typedef uint64_t VkBuffer;
typedef uint64_t VkDeviceMemory;
typedef uint64_t VkFence;
typedef uint64_t VkCommandPool;
typedef uint64_t VkShaderModule;
typedef uint64_t VkPipeline;
typedef uint64_t VkPipelineLayout;
typedef uint64_t VkImage;
typedef uint64_t VkImageView;
typedef uint64_t VkSampler;
typedef uint64_t VkDescriptorSetLayout;
typedef uint64_t VkDescriptorPool;
typedef uint64_t VkDescriptorSet;

#ifdef _WIN32
#define VKAPI_CALL __stdcall
#else
#define VKAPI_CALL
#endif

enum {
    VK_SUCCESS = 0,
    VK_NOT_READY = 1,
    VK_TIMEOUT = 2,
    VK_ERROR_OUT_OF_HOST_MEMORY = -1,
    VK_ERROR_OUT_OF_DEVICE_MEMORY = -2,
    VK_ERROR_DEVICE_LOST = -4,
    VK_ERROR_FORMAT_NOT_SUPPORTED = -11
};

enum {
    VK_STRUCTURE_TYPE_APPLICATION_INFO = 0,
    VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO = 1,
    VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO = 2,
    VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO = 3,
    VK_STRUCTURE_TYPE_SUBMIT_INFO = 4,
    VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO = 5,
    VK_STRUCTURE_TYPE_FENCE_CREATE_INFO = 8,
    VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO = 12,
    VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO = 14,
    VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO = 15,
    VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO = 16,
    VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO = 18,
    VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO = 29,
    VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO = 30,
    VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO = 31,
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO = 32,
    VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO = 33,
    VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO = 34,
    VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET = 35,
    VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO = 39,
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO = 40,
    VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO = 42,
    VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER = 45,
    VK_STRUCTURE_TYPE_MEMORY_BARRIER = 46,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES = 49,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES = 50,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES = 51,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES = 52,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 = 1000059000,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 = 1000059001,
    VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO = 1000060000,
    VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO = 1000244001,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT = 1000260000,
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT = 1000273000
};

enum {
    VK_QUEUE_COMPUTE_BIT = 2,
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT = 1,
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT = 2,
    VK_MEMORY_PROPERTY_HOST_COHERENT_BIT = 4,
    VK_MEMORY_PROPERTY_HOST_CACHED_BIT = 8,
    VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT = 2,
    VK_SHADER_STAGE_COMPUTE_BIT = 0x20,
    VK_PIPELINE_BIND_POINT_COMPUTE = 1,
    VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT = 2,
    VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT = 1,
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT = 0x800,
    VK_PIPELINE_STAGE_TRANSFER_BIT = 0x1000,
    VK_PIPELINE_STAGE_HOST_BIT = 0x4000,
    VK_ACCESS_HOST_READ_BIT = 0x2000,
    VK_ACCESS_MEMORY_READ_BIT = 0x8000,
    VK_ACCESS_MEMORY_WRITE_BIT = 0x10000,
    VK_PHYSICAL_DEVICE_TYPE_CPU = 4,
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT = 0x1,
    VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT = 0x2,
    VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT = 0x1000,
    VK_FORMAT_FEATURE_TRANSFER_SRC_BIT = 0x4000,
    VK_FORMAT_FEATURE_TRANSFER_DST_BIT = 0x8000,
    VK_IMAGE_USAGE_TRANSFER_SRC_BIT = 0x1,
    VK_IMAGE_USAGE_TRANSFER_DST_BIT = 0x2,
    VK_IMAGE_USAGE_SAMPLED_BIT = 0x4,
    VK_IMAGE_USAGE_STORAGE_BIT = 0x8,
    VK_IMAGE_LAYOUT_GENERAL = 1,
    VK_IMAGE_ASPECT_COLOR_BIT = 1,
    VK_BORDER_COLOR_FLOAT_TRANSPARENT_BLACK = 0,
    VK_BORDER_COLOR_INT_TRANSPARENT_BLACK = 1,
    VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER = 1,
    VK_DESCRIPTOR_TYPE_STORAGE_IMAGE = 3,
    VK_ACCESS_TRANSFER_WRITE_BIT = 0x1000,
    /* transfer source and destination, uniform, storage, index, vertex, device address */
    BUFFER_USAGE = 0x1 | 0x2 | 0x10 | 0x20 | 0x40 | 0x80 | 0x20000
};

typedef struct VkApplicationInfo {
    uint32_t sType;
    const void *pNext;
    const char *pApplicationName;
    uint32_t applicationVersion;
    const char *pEngineName;
    uint32_t engineVersion, apiVersion;
} VkApplicationInfo;

typedef struct VkInstanceCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    const VkApplicationInfo *pApplicationInfo;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
} VkInstanceCreateInfo;

typedef struct VkPhysicalDeviceLimits {
    uint32_t maxImageDimension1D, maxImageDimension2D, maxImageDimension3D, maxImageDimensionCube, maxImageArrayLayers;
    uint32_t maxTexelBufferElements, maxUniformBufferRange, maxStorageBufferRange, maxPushConstantsSize;
    uint32_t maxMemoryAllocationCount, maxSamplerAllocationCount;
    VkDeviceSize bufferImageGranularity, sparseAddressSpaceSize;
    uint32_t maxBoundDescriptorSets, maxPerStageDescriptorSamplers, maxPerStageDescriptorUniformBuffers;
    uint32_t maxPerStageDescriptorStorageBuffers, maxPerStageDescriptorSampledImages;
    uint32_t maxPerStageDescriptorStorageImages;
    uint32_t descriptorAndStageLimits[32]; /* maxPerStageDescriptorInputAttachments to
                                              maxFragmentCombinedOutputResources */
    uint32_t maxComputeSharedMemorySize, maxComputeWorkGroupCount[3], maxComputeWorkGroupInvocations;
    uint32_t maxComputeWorkGroupSize[3];
    uint64_t others[32]; /* subPixelPrecisionBits to nonCoherentAtomSize */
} VkPhysicalDeviceLimits;

typedef struct VkPhysicalDeviceProperties {
    uint32_t apiVersion, driverVersion, vendorID, deviceID, deviceType;
    char deviceName[256];
    uint8_t pipelineCacheUUID[16];
    VkPhysicalDeviceLimits limits;
    VkBool32 sparseProperties[5];
} VkPhysicalDeviceProperties;

typedef struct VkPhysicalDeviceProperties2 {
    uint32_t sType;
    void *pNext;
    VkPhysicalDeviceProperties properties;
} VkPhysicalDeviceProperties2;

typedef struct VkPhysicalDeviceVulkan11Properties {
    uint32_t sType;
    void *pNext;
    uint8_t deviceUUID[16], driverUUID[16], deviceLUID[8];
    uint32_t deviceNodeMask;
    VkBool32 deviceLUIDValid;
    uint32_t subgroupSize, subgroupSupportedStages, subgroupSupportedOperations;
    VkBool32 subgroupQuadOperationsInAllStages;
    uint32_t pointClippingBehavior, maxMultiviewViewCount, maxMultiviewInstanceIndex;
    VkBool32 protectedNoFault;
    uint32_t maxPerSetDescriptors;
    VkDeviceSize maxMemoryAllocationSize;
} VkPhysicalDeviceVulkan11Properties;

typedef struct VkPhysicalDeviceVulkan12Properties {
    uint32_t sType;
    void *pNext;
    uint32_t driverID;
    char driverName[256], driverInfo[256];
    uint8_t conformanceVersion[4];
    uint32_t denormBehaviorIndependence, roundingModeIndependence;
    VkBool32 signedZeroInfNanPreserve[3], denormPreserve[3], denormFlushToZero[3], roundingModeRTE[3],
        roundingModeRTZ[3];
    uint32_t others[29]; /* maxUpdateAfterBindDescriptorsInAllPools to filterMinmaxImageComponentMapping */
    uint64_t maxTimelineSemaphoreValueDifference;
    uint32_t framebufferIntegerColorSampleCounts;
} VkPhysicalDeviceVulkan12Properties;

/* Feature structs: the members are VkBool32, accessed by number. */
typedef struct Features10 {
    uint32_t sType;
    void *pNext;
    VkBool32 values[55];
} Features10; /* VkPhysicalDeviceFeatures2 */

typedef struct Features11 {
    uint32_t sType;
    void *pNext;
    VkBool32 values[12];
} Features11; /* VkPhysicalDeviceVulkan11Features */

typedef struct Features12 {
    uint32_t sType;
    void *pNext;
    VkBool32 values[47];
} Features12; /* VkPhysicalDeviceVulkan12Features */

typedef struct FeaturesAtomic {
    uint32_t sType;
    void *pNext;
    VkBool32 values[12];
} FeaturesAtomic; /* VkPhysicalDeviceShaderAtomicFloatFeaturesEXT and ...Float2FeaturesEXT */

typedef struct VkQueueFamilyProperties {
    uint32_t queueFlags, queueCount, timestampValidBits, minImageTransferGranularity[3];
} VkQueueFamilyProperties;

typedef struct VkMemoryType {
    uint32_t propertyFlags, heapIndex;
} VkMemoryType;

typedef struct VkMemoryHeap {
    VkDeviceSize size;
    uint32_t flags;
} VkMemoryHeap;

typedef struct VkPhysicalDeviceMemoryProperties {
    uint32_t memoryTypeCount;
    VkMemoryType memoryTypes[32];
    uint32_t memoryHeapCount;
    VkMemoryHeap memoryHeaps[16];
} VkPhysicalDeviceMemoryProperties;

typedef struct VkExtensionProperties {
    char extensionName[256];
    uint32_t specVersion;
} VkExtensionProperties;

typedef struct VkDeviceQueueCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, queueFamilyIndex, queueCount;
    const float *pQueuePriorities;
} VkDeviceQueueCreateInfo;

typedef struct VkDeviceCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, queueCreateInfoCount;
    const VkDeviceQueueCreateInfo *pQueueCreateInfos;
    uint32_t enabledLayerCount;
    const char *const *ppEnabledLayerNames;
    uint32_t enabledExtensionCount;
    const char *const *ppEnabledExtensionNames;
    const void *pEnabledFeatures;
} VkDeviceCreateInfo;

typedef struct VkBufferCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    VkDeviceSize size;
    uint32_t usage, sharingMode, queueFamilyIndexCount;
    const uint32_t *pQueueFamilyIndices;
} VkBufferCreateInfo;

typedef struct VkMemoryRequirements {
    VkDeviceSize size, alignment;
    uint32_t memoryTypeBits;
} VkMemoryRequirements;

typedef struct VkMemoryAllocateFlagsInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, deviceMask;
} VkMemoryAllocateFlagsInfo;

typedef struct VkMemoryAllocateInfo {
    uint32_t sType;
    const void *pNext;
    VkDeviceSize allocationSize;
    uint32_t memoryTypeIndex;
} VkMemoryAllocateInfo;

typedef struct VkBufferDeviceAddressInfo {
    uint32_t sType;
    const void *pNext;
    VkBuffer buffer;
} VkBufferDeviceAddressInfo;

typedef struct VkCommandPoolCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, queueFamilyIndex;
} VkCommandPoolCreateInfo;

typedef struct VkCommandBufferAllocateInfo {
    uint32_t sType;
    const void *pNext;
    VkCommandPool commandPool;
    uint32_t level, commandBufferCount;
} VkCommandBufferAllocateInfo;

typedef struct VkCommandBufferBeginInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    const void *pInheritanceInfo;
} VkCommandBufferBeginInfo;

typedef struct VkFenceCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
} VkFenceCreateInfo;

typedef struct VkSubmitInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t waitSemaphoreCount;
    const uint64_t *pWaitSemaphores;
    const uint32_t *pWaitDstStageMask;
    uint32_t commandBufferCount;
    const VkCommandBuffer *pCommandBuffers;
    uint32_t signalSemaphoreCount;
    const uint64_t *pSignalSemaphores;
} VkSubmitInfo;

typedef struct VkMemoryBarrier {
    uint32_t sType;
    const void *pNext;
    uint32_t srcAccessMask, dstAccessMask;
} VkMemoryBarrier;

typedef struct VkBufferCopy {
    VkDeviceSize srcOffset, dstOffset, size;
} VkBufferCopy;

typedef struct VkOffset3D {
    int32_t x, y, z;
} VkOffset3D;

typedef struct VkExtent3D {
    uint32_t width, height, depth;
} VkExtent3D;

typedef struct VkFormatProperties {
    uint32_t linearTilingFeatures, optimalTilingFeatures, bufferFeatures;
} VkFormatProperties;

typedef struct VkImageFormatProperties {
    VkExtent3D maxExtent;
    uint32_t maxMipLevels, maxArrayLayers, sampleCounts;
    VkDeviceSize maxResourceSize;
} VkImageFormatProperties;

typedef struct VkImageCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, imageType, format;
    VkExtent3D extent;
    uint32_t mipLevels, arrayLayers, samples, tiling, usage, sharingMode, queueFamilyIndexCount;
    const uint32_t *pQueueFamilyIndices;
    uint32_t initialLayout;
} VkImageCreateInfo;

typedef struct VkImageSubresourceRange {
    uint32_t aspectMask, baseMipLevel, levelCount, baseArrayLayer, layerCount;
} VkImageSubresourceRange;

typedef struct VkImageSubresourceLayers {
    uint32_t aspectMask, mipLevel, baseArrayLayer, layerCount;
} VkImageSubresourceLayers;

typedef struct VkImageViewCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    VkImage image;
    uint32_t viewType, format, components[4];
    VkImageSubresourceRange subresourceRange;
} VkImageViewCreateInfo;

typedef struct VkSamplerCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, magFilter, minFilter, mipmapMode, addressModeU, addressModeV, addressModeW;
    float mipLodBias;
    VkBool32 anisotropyEnable;
    float maxAnisotropy;
    VkBool32 compareEnable;
    uint32_t compareOp;
    float minLod, maxLod;
    uint32_t borderColor;
    VkBool32 unnormalizedCoordinates;
} VkSamplerCreateInfo;

typedef struct VkImageMemoryBarrier {
    uint32_t sType;
    const void *pNext;
    uint32_t srcAccessMask, dstAccessMask, oldLayout, newLayout, srcQueueFamilyIndex, dstQueueFamilyIndex;
    VkImage image;
    VkImageSubresourceRange subresourceRange;
} VkImageMemoryBarrier;

typedef struct VkBufferImageCopy {
    VkDeviceSize bufferOffset;
    uint32_t bufferRowLength, bufferImageHeight;
    VkImageSubresourceLayers imageSubresource;
    VkOffset3D imageOffset;
    VkExtent3D imageExtent;
} VkBufferImageCopy;

typedef struct VkImageCopy {
    VkImageSubresourceLayers srcSubresource;
    VkOffset3D srcOffset;
    VkImageSubresourceLayers dstSubresource;
    VkOffset3D dstOffset;
    VkExtent3D extent;
} VkImageCopy;

typedef struct VkDescriptorSetLayoutBinding {
    uint32_t binding, descriptorType, descriptorCount, stageFlags;
    const VkSampler *pImmutableSamplers;
} VkDescriptorSetLayoutBinding;

typedef struct VkDescriptorSetLayoutCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, bindingCount;
    const VkDescriptorSetLayoutBinding *pBindings;
} VkDescriptorSetLayoutCreateInfo;

typedef struct VkDescriptorPoolSize {
    uint32_t type, descriptorCount;
} VkDescriptorPoolSize;

typedef struct VkDescriptorPoolCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, maxSets, poolSizeCount;
    const VkDescriptorPoolSize *pPoolSizes;
} VkDescriptorPoolCreateInfo;

typedef struct VkDescriptorSetAllocateInfo {
    uint32_t sType;
    const void *pNext;
    VkDescriptorPool descriptorPool;
    uint32_t descriptorSetCount;
    const VkDescriptorSetLayout *pSetLayouts;
} VkDescriptorSetAllocateInfo;

typedef struct VkDescriptorImageInfo {
    VkSampler sampler;
    VkImageView imageView;
    uint32_t imageLayout;
} VkDescriptorImageInfo;

typedef struct VkWriteDescriptorSet {
    uint32_t sType;
    const void *pNext;
    VkDescriptorSet dstSet;
    uint32_t dstBinding, dstArrayElement, descriptorCount, descriptorType;
    const VkDescriptorImageInfo *pImageInfo;
    const void *pBufferInfo, *pTexelBufferView;
} VkWriteDescriptorSet;

typedef struct VkShaderModuleCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    size_t codeSize;
    const uint32_t *pCode;
} VkShaderModuleCreateInfo;

typedef struct VkPushConstantRange {
    uint32_t stageFlags, offset, size;
} VkPushConstantRange;

typedef struct VkPipelineLayoutCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, setLayoutCount;
    const VkDescriptorSetLayout *pSetLayouts;
    uint32_t pushConstantRangeCount;
    const VkPushConstantRange *pPushConstantRanges;
} VkPipelineLayoutCreateInfo;

typedef struct VkPipelineShaderStageCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags, stage;
    VkShaderModule module;
    const char *pName;
    const void *pSpecializationInfo;
} VkPipelineShaderStageCreateInfo;

typedef struct VkComputePipelineCreateInfo {
    uint32_t sType;
    const void *pNext;
    uint32_t flags;
    VkPipelineShaderStageCreateInfo stage;
    VkPipelineLayout layout;
    VkPipeline basePipelineHandle;
    int32_t basePipelineIndex;
} VkComputePipelineCreateInfo;

typedef AnyFunction(VKAPI_CALL *PFN_vkGetInstanceProcAddr)(VkInstance, const char *);
typedef AnyFunction(VKAPI_CALL *PFN_vkGetDeviceProcAddr)(VkDevice, const char *);
