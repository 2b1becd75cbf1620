/* --- Vulkan: functions, features and state of a device ------------------------------------------------------------ */

/* Vulkan functions, named without "vk". */
typedef struct VulkanApi {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr GetDeviceProcAddr;
    VkResult(VKAPI_CALL *CreateInstance)(const VkInstanceCreateInfo *, const void *, VkInstance *);
    void(VKAPI_CALL *DestroyInstance)(VkInstance, const void *);
    VkResult(VKAPI_CALL *EnumeratePhysicalDevices)(VkInstance, uint32_t *, VkPhysicalDevice *);
    void(VKAPI_CALL *GetPhysicalDeviceProperties)(VkPhysicalDevice, VkPhysicalDeviceProperties *);
    void(VKAPI_CALL *GetPhysicalDeviceProperties2)(VkPhysicalDevice, VkPhysicalDeviceProperties2 *);
    void(VKAPI_CALL *GetPhysicalDeviceFeatures2)(VkPhysicalDevice, Features10 *);
    void(VKAPI_CALL *GetPhysicalDeviceQueueFamilyProperties)(VkPhysicalDevice, uint32_t *, VkQueueFamilyProperties *);
    void(VKAPI_CALL *GetPhysicalDeviceMemoryProperties)(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties *);
    VkResult(VKAPI_CALL *EnumerateDeviceExtensionProperties)(VkPhysicalDevice, const char *, uint32_t *,
                                                             VkExtensionProperties *);
    VkResult(VKAPI_CALL *CreateDevice)(VkPhysicalDevice, const VkDeviceCreateInfo *, const void *, VkDevice *);
    void(VKAPI_CALL *DestroyDevice)(VkDevice, const void *);
    void(VKAPI_CALL *GetDeviceQueue)(VkDevice, uint32_t, uint32_t, VkQueue *);
    VkResult(VKAPI_CALL *DeviceWaitIdle)(VkDevice);
    VkResult(VKAPI_CALL *CreateBuffer)(VkDevice, const VkBufferCreateInfo *, const void *, VkBuffer *);
    void(VKAPI_CALL *DestroyBuffer)(VkDevice, VkBuffer, const void *);
    void(VKAPI_CALL *GetBufferMemoryRequirements)(VkDevice, VkBuffer, VkMemoryRequirements *);
    VkResult(VKAPI_CALL *AllocateMemory)(VkDevice, const VkMemoryAllocateInfo *, const void *, VkDeviceMemory *);
    void(VKAPI_CALL *FreeMemory)(VkDevice, VkDeviceMemory, const void *);
    VkResult(VKAPI_CALL *BindBufferMemory)(VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize);
    VkResult(VKAPI_CALL *MapMemory)(VkDevice, VkDeviceMemory, VkDeviceSize, VkDeviceSize, uint32_t, void **);
    VkDeviceAddress(VKAPI_CALL *GetBufferDeviceAddress)(VkDevice, const VkBufferDeviceAddressInfo *);
    VkResult(VKAPI_CALL *CreateCommandPool)(VkDevice, const VkCommandPoolCreateInfo *, const void *, VkCommandPool *);
    void(VKAPI_CALL *DestroyCommandPool)(VkDevice, VkCommandPool, const void *);
    VkResult(VKAPI_CALL *AllocateCommandBuffers)(VkDevice, const VkCommandBufferAllocateInfo *, VkCommandBuffer *);
    VkResult(VKAPI_CALL *BeginCommandBuffer)(VkCommandBuffer, const VkCommandBufferBeginInfo *);
    VkResult(VKAPI_CALL *EndCommandBuffer)(VkCommandBuffer);
    VkResult(VKAPI_CALL *CreateFence)(VkDevice, const VkFenceCreateInfo *, const void *, VkFence *);
    void(VKAPI_CALL *DestroyFence)(VkDevice, VkFence, const void *);
    VkResult(VKAPI_CALL *WaitForFences)(VkDevice, uint32_t, const VkFence *, VkBool32, uint64_t);
    VkResult(VKAPI_CALL *GetFenceStatus)(VkDevice, VkFence);
    VkResult(VKAPI_CALL *ResetFences)(VkDevice, uint32_t, const VkFence *);
    VkResult(VKAPI_CALL *QueueSubmit)(VkQueue, uint32_t, const VkSubmitInfo *, VkFence);
    void(VKAPI_CALL *CmdBindPipeline)(VkCommandBuffer, uint32_t, VkPipeline);
    void(VKAPI_CALL *CmdPushConstants)(VkCommandBuffer, VkPipelineLayout, uint32_t, uint32_t, uint32_t, const void *);
    void(VKAPI_CALL *CmdDispatch)(VkCommandBuffer, uint32_t, uint32_t, uint32_t);
    void(VKAPI_CALL *CmdPipelineBarrier)(VkCommandBuffer, uint32_t, uint32_t, uint32_t, uint32_t,
                                         const VkMemoryBarrier *, uint32_t, const void *, uint32_t, const void *);
    void(VKAPI_CALL *CmdCopyBuffer)(VkCommandBuffer, VkBuffer, VkBuffer, uint32_t, const VkBufferCopy *);
    void(VKAPI_CALL *CmdFillBuffer)(VkCommandBuffer, VkBuffer, VkDeviceSize, VkDeviceSize, uint32_t);
    VkResult(VKAPI_CALL *CreateShaderModule)(VkDevice, const VkShaderModuleCreateInfo *, const void *,
                                             VkShaderModule *);
    void(VKAPI_CALL *DestroyShaderModule)(VkDevice, VkShaderModule, const void *);
    VkResult(VKAPI_CALL *CreatePipelineLayout)(VkDevice, const VkPipelineLayoutCreateInfo *, const void *,
                                               VkPipelineLayout *);
    void(VKAPI_CALL *DestroyPipelineLayout)(VkDevice, VkPipelineLayout, const void *);
    VkResult(VKAPI_CALL *CreateComputePipelines)(VkDevice, uint64_t, uint32_t, const VkComputePipelineCreateInfo *,
                                                 const void *, VkPipeline *);
    void(VKAPI_CALL *DestroyPipeline)(VkDevice, VkPipeline, const void *);
    void(VKAPI_CALL *GetPhysicalDeviceFormatProperties)(VkPhysicalDevice, uint32_t, VkFormatProperties *);
    VkResult(VKAPI_CALL *GetPhysicalDeviceImageFormatProperties)(VkPhysicalDevice, uint32_t, uint32_t, uint32_t,
                                                                 uint32_t, uint32_t, VkImageFormatProperties *);
    VkResult(VKAPI_CALL *CreateImage)(VkDevice, const VkImageCreateInfo *, const void *, VkImage *);
    void(VKAPI_CALL *DestroyImage)(VkDevice, VkImage, const void *);
    void(VKAPI_CALL *GetImageMemoryRequirements)(VkDevice, VkImage, VkMemoryRequirements *);
    VkResult(VKAPI_CALL *BindImageMemory)(VkDevice, VkImage, VkDeviceMemory, VkDeviceSize);
    VkResult(VKAPI_CALL *CreateImageView)(VkDevice, const VkImageViewCreateInfo *, const void *, VkImageView *);
    void(VKAPI_CALL *DestroyImageView)(VkDevice, VkImageView, const void *);
    VkResult(VKAPI_CALL *CreateSampler)(VkDevice, const VkSamplerCreateInfo *, const void *, VkSampler *);
    void(VKAPI_CALL *DestroySampler)(VkDevice, VkSampler, const void *);
    VkResult(VKAPI_CALL *CreateDescriptorSetLayout)(VkDevice, const VkDescriptorSetLayoutCreateInfo *, const void *,
                                                    VkDescriptorSetLayout *);
    void(VKAPI_CALL *DestroyDescriptorSetLayout)(VkDevice, VkDescriptorSetLayout, const void *);
    VkResult(VKAPI_CALL *CreateDescriptorPool)(VkDevice, const VkDescriptorPoolCreateInfo *, const void *,
                                               VkDescriptorPool *);
    void(VKAPI_CALL *DestroyDescriptorPool)(VkDevice, VkDescriptorPool, const void *);
    VkResult(VKAPI_CALL *ResetDescriptorPool)(VkDevice, VkDescriptorPool, uint32_t);
    VkResult(VKAPI_CALL *AllocateDescriptorSets)(VkDevice, const VkDescriptorSetAllocateInfo *, VkDescriptorSet *);
    void(VKAPI_CALL *UpdateDescriptorSets)(VkDevice, uint32_t, const VkWriteDescriptorSet *, uint32_t, const void *);
    void(VKAPI_CALL *CmdBindDescriptorSets)(VkCommandBuffer, uint32_t, VkPipelineLayout, uint32_t, uint32_t,
                                            const VkDescriptorSet *, uint32_t, const uint32_t *);
    void(VKAPI_CALL *CmdClearColorImage)(VkCommandBuffer, VkImage, uint32_t, const void *, uint32_t,
                                         const VkImageSubresourceRange *);
    void(VKAPI_CALL *CmdCopyImage)(VkCommandBuffer, VkImage, uint32_t, VkImage, uint32_t, uint32_t,
                                   const VkImageCopy *);
    void(VKAPI_CALL *CmdCopyBufferToImage)(VkCommandBuffer, VkBuffer, VkImage, uint32_t, uint32_t,
                                           const VkBufferImageCopy *);
    void(VKAPI_CALL *CmdCopyImageToBuffer)(VkCommandBuffer, VkImage, uint32_t, VkBuffer, uint32_t,
                                           const VkBufferImageCopy *);
} VulkanApi;

enum { API_VERSION_1_2 = 1 << 22 | 2 << 12, MAX_DEVICES = 64, MAX_FAMILIES = 64 };
enum { MAX_RECORDED = 1024 }; /* maximum of launches in a command buffer; it is submitted from BATCH on */
enum { SLOTS = 8, BATCH = 64, ARGUMENT_ALIGNMENT = 64, ARGUMENT_BLOCK_BYTES = 128 << 10, STAGING_BYTES = 8 << 20 };
enum { DESCRIPTORS = 256 }; /* of each kind, in the pool of a command buffer; no kernel needs as many */
enum { GROUPS_X = 65535, STRIDED_GROUPS = 1024, STRIDED_THREADS = 1 << 20 };

/* The struct that a feature is in. */
typedef enum FeatureStruct {
    IN_CORE,
    IN_1_1,
    IN_1_2,
    IN_ATOMIC_FLOAT,
    IN_ATOMIC_FLOAT_2,
    IN_SUBGROUP,
    IN_FLOAT_CONTROLS,
    ALWAYS
} FeatureStruct;

enum { BUFFER_DEVICE_ADDRESS = 38, SCALAR_BLOCK_LAYOUT = 31 }; /* in VkPhysicalDeviceVulkan12Features */

/* A SPIR-V capability, and the device feature that it requires. number: of the member of the struct; a bit of
   VkSubgroupFeatureFlagBits; the index of the float control. */
typedef struct Capability {
    uint32_t capability;
    const char *name;
    FeatureStruct structure;
    uint32_t number;
} Capability;

static const Capability CAPABILITIES[] = {
    {0, "Matrix", ALWAYS, 0},
    {1, "Shader", ALWAYS, 0},
    {9, "Float16", IN_1_2, 7},
    {10, "Float64", IN_CORE, 39},
    {11, "Int64", IN_CORE, 40},
    {12, "Int64Atomics", IN_1_2, 5},
    {22, "Int16", IN_CORE, 41},
    {39, "Int8", IN_1_2, 8},
    {43, "Sampled1D", ALWAYS, 0},
    {44, "Image1D", ALWAYS, 0},
    {49, "StorageImageExtendedFormats", IN_CORE, 29},
    {50, "ImageQuery", ALWAYS, 0},
    {61, "GroupNonUniform", IN_SUBGROUP, 0},
    {62, "GroupNonUniformVote", IN_SUBGROUP, 1},
    {63, "GroupNonUniformArithmetic", IN_SUBGROUP, 2},
    {64, "GroupNonUniformBallot", IN_SUBGROUP, 3},
    {65, "GroupNonUniformShuffle", IN_SUBGROUP, 4},
    {66, "GroupNonUniformShuffleRelative", IN_SUBGROUP, 5},
    {67, "GroupNonUniformClustered", IN_SUBGROUP, 6},
    {68, "GroupNonUniformQuad", IN_SUBGROUP, 7},
    {4433, "StorageBuffer16BitAccess", IN_1_1, 0},
    {4434, "UniformAndStorageBuffer16BitAccess", IN_1_1, 1},
    {4435, "StoragePushConstant16", IN_1_1, 2},
    {4448, "StorageBuffer8BitAccess", IN_1_2, 2},
    {4449, "UniformAndStorageBuffer8BitAccess", IN_1_2, 3},
    {4450, "StoragePushConstant8", IN_1_2, 4},
    {4464, "DenormPreserve", IN_FLOAT_CONTROLS, 1},
    {4465, "DenormFlushToZero", IN_FLOAT_CONTROLS, 2},
    {4466, "SignedZeroInfNanPreserve", IN_FLOAT_CONTROLS, 0},
    {4467, "RoundingModeRTE", IN_FLOAT_CONTROLS, 3},
    {4468, "RoundingModeRTZ", IN_FLOAT_CONTROLS, 4},
    {5347, "PhysicalStorageBufferAddresses", IN_1_2, BUFFER_DEVICE_ADDRESS},
    {5612, "AtomicFloat32MinMaxEXT", IN_ATOMIC_FLOAT_2, 3},
    {5613, "AtomicFloat64MinMaxEXT", IN_ATOMIC_FLOAT_2, 4},
    {6033, "AtomicFloat32AddEXT", IN_ATOMIC_FLOAT, 1},
    {6034, "AtomicFloat64AddEXT", IN_ATOMIC_FLOAT, 3},
};

/* Features that no SPIR-V capability requires by itself, but that shaders with some capability use. */
static const struct {
    FeatureStruct structure;
    uint32_t number;
} FURTHER_FEATURES[] = {
    {IN_1_2, 6},                   /* shaderSharedInt64Atomics */
    {IN_1_2, SCALAR_BLOCK_LAYOUT}, /* scalarBlockLayout */
    {IN_1_2, 34},                  /* shaderSubgroupExtendedTypes */
    {IN_ATOMIC_FLOAT, 0},          /* shaderBufferFloat32Atomics */
    {IN_ATOMIC_FLOAT, 2},          /* shaderBufferFloat64Atomics */
    {IN_ATOMIC_FLOAT, 4},          /* shaderSharedFloat32Atomics */
    {IN_ATOMIC_FLOAT, 5},          /* shaderSharedFloat32AtomicAdd */
    {IN_ATOMIC_FLOAT, 6},          /* shaderSharedFloat64Atomics */
    {IN_ATOMIC_FLOAT, 7},          /* shaderSharedFloat64AtomicAdd */
    {IN_ATOMIC_FLOAT_2, 8},        /* shaderSharedFloat32AtomicMinMax */
    {IN_ATOMIC_FLOAT_2, 9},        /* shaderSharedFloat64AtomicMinMax */
};

/* The features of a physical device, chained for Vulkan. */
typedef struct Features {
    Features10 core;
    Features11 v11;
    Features12 v12;
    FeaturesAtomic atomic, atomic_2;
    bool has_atomic, has_atomic_2;
} Features;

/* A command buffer. arguments: memory for argument blocks that are too long for push constants. descriptors: pool for
   the descriptor sets of its launches, which are freed when it is recorded again. */
typedef struct CommandSlot {
    VkCommandBuffer commands;
    VkFence fence;
    bool is_in_flight;
    TiMemory arguments;
    uint64_t arguments_used;
    VkDescriptorPool descriptors;
    uint32_t descriptors_used, sets_used;
} CommandSlot;

struct VulkanDevice {
    VulkanApi api;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    uint32_t family;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceVulkan11Properties properties_11;
    VkPhysicalDeviceVulkan12Properties properties_12;
    VkPhysicalDeviceMemoryProperties memory;
    Features features;
    bool is_software, is_mapped; /* is_mapped: the host accesses device memory at full speed */
    CommandSlot slots[SLOTS];
    CommandSlot *open; /* the one that is being recorded, or null */
    uint32_t next_slot, recorded;
    TiMemory staging;
    TiSampler default_samplers[2]; /* nearest, linear */
    bool is_lost;
};

/* layout: of the push constants and the textures; pipelines: one a task. functions, module: of CUDA, one function a
   task. */
struct Program {
    VkPipelineLayout layout;
    VkDescriptorSetLayout textures;
    VkPipeline *pipelines;
    void **functions;
    void *module;
    uint32_t task_count;
};
