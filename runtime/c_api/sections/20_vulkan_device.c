/* --- Vulkan: choice and creation of a device ---------------------------------------------------------------------- */

static VkBool32 *feature_of(Features *features, FeatureStruct structure, uint32_t number) {
    switch (structure) {
    case IN_CORE: return &features->core.values[number];
    case IN_1_1: return &features->v11.values[number];
    case IN_1_2: return &features->v12.values[number];
    case IN_ATOMIC_FLOAT: return &features->atomic.values[number];
    case IN_ATOMIC_FLOAT_2: return &features->atomic_2.values[number];
    default: return NULL;
    }
}

static void features_chain(Features *features) {
    void **next = &features->core.pNext;
    features->core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features->v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    features->v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    features->atomic.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
    features->atomic_2.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_2_FEATURES_EXT;
    *next = &features->v11;
    features->v11.pNext = &features->v12;
    next = &features->v12.pNext;
    if (features->has_atomic) {
        *next = &features->atomic;
        next = &features->atomic.pNext;
    }
    if (features->has_atomic_2) {
        *next = &features->atomic_2;
        next = &features->atomic_2.pNext;
    }
    *next = NULL;
}

/* Query all features of a physical device, then leave only those enabled that our shaders may use. */
static void vulkan_read_features(VulkanDevice *vulkan) {
    Features *present = &vulkan->features, *used = (Features *)allocate_zeroed(sizeof(Features));
    size_t i;
    features_chain(present);
    vulkan->api.GetPhysicalDeviceFeatures2(vulkan->physical, &present->core);
    if (!used) {
        return;
    }
    used->has_atomic = present->has_atomic;
    used->has_atomic_2 = present->has_atomic_2;
    for (i = 0; i < sizeof CAPABILITIES / sizeof *CAPABILITIES; i++) {
        VkBool32 *supported = feature_of(present, CAPABILITIES[i].structure, CAPABILITIES[i].number);
        if (supported) {
            *feature_of(used, CAPABILITIES[i].structure, CAPABILITIES[i].number) = *supported;
        }
    }
    for (i = 0; i < sizeof FURTHER_FEATURES / sizeof *FURTHER_FEATURES; i++) {
        *feature_of(used, FURTHER_FEATURES[i].structure, FURTHER_FEATURES[i].number) =
            *feature_of(present, FURTHER_FEATURES[i].structure, FURTHER_FEATURES[i].number);
    }
    *present = *used;
    features_chain(present);
    free(used);
}

static bool vulkan_read_extensions(VulkanDevice *vulkan) {
    uint32_t count = 0, i;
    VkExtensionProperties *listed;
    if (vulkan->api.EnumerateDeviceExtensionProperties(vulkan->physical, NULL, &count, NULL) < 0) {
        return fail(TI_ERROR_INVALID_STATE, "the Vulkan driver does not list its extensions");
    }
    listed = (VkExtensionProperties *)allocate_zeroed((size_t)count * sizeof(VkExtensionProperties));
    if (!listed) {
        return false;
    }
    vulkan->api.EnumerateDeviceExtensionProperties(vulkan->physical, NULL, &count, listed);
    for (i = 0; i < count; i++) {
        vulkan->features.has_atomic |= !strcmp(listed[i].extensionName, "VK_EXT_shader_atomic_float");
        vulkan->features.has_atomic_2 |= !strcmp(listed[i].extensionName, "VK_EXT_shader_atomic_float2");
    }
    free(listed);
    return true;
}

/* Find a queue family that supports compute. */
static bool vulkan_find_family(VulkanDevice *vulkan, VkPhysicalDevice physical, uint32_t *family) {
    VkQueueFamilyProperties families[MAX_FAMILIES];
    uint32_t count = MAX_FAMILIES;
    vulkan->api.GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (*family = 0; *family < count; (*family)++) {
        if (families[*family].queueFlags & VK_QUEUE_COMPUTE_BIT) {
            return true;
        }
    }
    return false;
}

/* Return whether a device can run shadesmith's shaders at all. */
static bool vulkan_is_able(VulkanDevice *vulkan, VkPhysicalDevice physical, VkPhysicalDeviceProperties *properties) {
    Features10 core;
    Features12 v12;
    uint32_t family;
    vulkan->api.GetPhysicalDeviceProperties(physical, properties);
    if (properties->apiVersion < API_VERSION_1_2 || !vulkan_find_family(vulkan, physical, &family)) {
        return false;
    }
    memset(&core, 0, sizeof core);
    memset(&v12, 0, sizeof v12);
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    core.pNext = &v12;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    vulkan->api.GetPhysicalDeviceFeatures2(physical, &core);
    return v12.values[BUFFER_DEVICE_ADDRESS] && v12.values[SCALAR_BLOCK_LAYOUT];
}

/* Rank the types of devices by speed: other, integrated, discrete, virtual, processor. */
static uint32_t vulkan_rank(uint32_t device_type) {
    static const uint32_t RANKS[] = {3, 1, 0, 2, 4};
    return device_type < 5 ? RANKS[device_type] : 3;
}

/* Choose the device of this number among those that can run our shaders, the fastest types first. */
static bool vulkan_choose(VulkanDevice *vulkan, uint32_t device_index) {
    VkPhysicalDevice devices[MAX_DEVICES];
    VkPhysicalDeviceProperties properties;
    uint32_t count = MAX_DEVICES, able = 0, rank, i;
    if (vulkan->api.EnumeratePhysicalDevices(vulkan->instance, &count, devices) < 0) {
        return fail(TI_ERROR_NOT_SUPPORTED, "no Vulkan driver is installed");
    }
    for (rank = 0; rank < 5; rank++) {
        for (i = 0; i < count; i++) {
            if (!vulkan_is_able(vulkan, devices[i], &properties) || vulkan_rank(properties.deviceType) != rank) {
                continue;
            }
            if (able++ == device_index) {
                vulkan->physical = devices[i];
                return true;
            }
        }
    }
    return able ? fail(TI_ERROR_INVALID_ARGUMENT, "there is no Vulkan device %u; there are %u", device_index, able)
                : fail(TI_ERROR_NOT_SUPPORTED,
                       "no Vulkan 1.2 device with bufferDeviceAddress and scalarBlockLayout was found");
}

static bool vulkan_open_instance(VulkanDevice *vulkan) {
    static const char *const LIBRARIES[] = {
#if defined(_WIN32)
        "vulkan-1.dll",
#elif defined(__APPLE__)
        "libvulkan.1.dylib", "libMoltenVK.dylib",
#else
        "libvulkan.so.1", "libvulkan.so",
#endif
        NULL};
    VkApplicationInfo application;
    VkInstanceCreateInfo info;
    AnyFunction function;
    void *library = open_library(LIBRARIES);
    VkResult result;
    if (!library) {
        return fail(TI_ERROR_NOT_SUPPORTED, "the Vulkan loader (%s) is not installed", LIBRARIES[0]);
    }
    function = library_function(library, "vkGetInstanceProcAddr");
    if (!function) {
        return fail(TI_ERROR_NOT_SUPPORTED, "%s is no Vulkan loader", LIBRARIES[0]);
    }
    memcpy(&vulkan->api.GetInstanceProcAddr, &function, sizeof function);
    if (!vulkan_function(vulkan, &vulkan->api.CreateInstance, "vkCreateInstance")) {
        return false;
    }
    memset(&application, 0, sizeof application);
    memset(&info, 0, sizeof info);
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.pApplicationName = "shadesmith";
    application.apiVersion = API_VERSION_1_2;
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    result = vulkan->api.CreateInstance(&info, NULL, &vulkan->instance);
    if (result < 0) {
        return fail(TI_ERROR_NOT_SUPPORTED, "no Vulkan driver could be started: %s", vulkan_result_name(result));
    }
    return vulkan_functions(vulkan, INSTANCE_FUNCTIONS, sizeof INSTANCE_FUNCTIONS / sizeof *INSTANCE_FUNCTIONS);
}

static void vulkan_read_properties(VulkanDevice *vulkan) {
    VkPhysicalDeviceProperties2 head;
    memset(&head, 0, sizeof head);
    head.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    head.pNext = &vulkan->properties_11;
    vulkan->properties_11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
    vulkan->properties_11.pNext = &vulkan->properties_12;
    vulkan->properties_12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
    vulkan->api.GetPhysicalDeviceProperties2(vulkan->physical, &head);
    vulkan->properties = head.properties;
    vulkan->is_software = head.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    vulkan->api.GetPhysicalDeviceMemoryProperties(vulkan->physical, &vulkan->memory);
}

/* Return the first memory type among `allowed` that has these properties, -1 if there is none. */
static int vulkan_memory_type(const VulkanDevice *vulkan, uint32_t allowed, uint32_t properties) {
    uint32_t i;
    for (i = 0; i < vulkan->memory.memoryTypeCount; i++) {
        if (allowed >> i & 1 && (vulkan->memory.memoryTypes[i].propertyFlags & properties) == properties) {
            return (int)i;
        }
    }
    return -1;
}

enum {
    MEMORY_LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
    MEMORY_VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
    MEMORY_CACHED = MEMORY_VISIBLE | VK_MEMORY_PROPERTY_HOST_CACHED_BIT
};

static bool vulkan_create_device(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    const char *extensions[2];
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue;
    VkDeviceCreateInfo info;
    memset(&queue, 0, sizeof queue);
    memset(&info, 0, sizeof info);
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = vulkan->family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &vulkan->features.core;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    if (vulkan->features.has_atomic) {
        extensions[info.enabledExtensionCount++] = "VK_EXT_shader_atomic_float";
    }
    if (vulkan->features.has_atomic_2) {
        extensions[info.enabledExtensionCount++] = "VK_EXT_shader_atomic_float2";
    }
    info.ppEnabledExtensionNames = extensions;
    if (!vulkan_check(runtime, vulkan->api.CreateDevice(vulkan->physical, &info, NULL, &vulkan->device),
                      "opening the device")) {
        vulkan->device = NULL;
        return false;
    }
    if (!vulkan_functions(vulkan, DEVICE_FUNCTIONS, sizeof DEVICE_FUNCTIONS / sizeof *DEVICE_FUNCTIONS)) {
        return false;
    }
    vulkan->api.GetDeviceQueue(vulkan->device, vulkan->family, 0, &vulkan->queue);
    return true;
}

static bool vulkan_create_slots(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    VkCommandPoolCreateInfo pool;
    VkCommandBufferAllocateInfo info;
    VkFenceCreateInfo fence;
    VkCommandBuffer commands[SLOTS];
    int i;
    memset(&pool, 0, sizeof pool);
    memset(&info, 0, sizeof info);
    memset(&fence, 0, sizeof fence);
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = vulkan->family;
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandBufferCount = SLOTS;
    fence.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    if (!vulkan_check(runtime, vulkan->api.CreateCommandPool(vulkan->device, &pool, NULL, &vulkan->pool),
                      "making a command pool")) {
        return false;
    }
    info.commandPool = vulkan->pool;
    if (!vulkan_check(runtime, vulkan->api.AllocateCommandBuffers(vulkan->device, &info, commands),
                      "making command buffers")) {
        return false;
    }
    for (i = 0; i < SLOTS; i++) {
        vulkan->slots[i].commands = commands[i];
        if (!vulkan_check(runtime, vulkan->api.CreateFence(vulkan->device, &fence, NULL, &vulkan->slots[i].fence),
                          "making a fence")) {
            return false;
        }
    }
    return true;
}

static bool vulkan_open(TiRuntime runtime, uint32_t device_index) {
    VulkanDevice *vulkan = (VulkanDevice *)allocate_zeroed(sizeof(VulkanDevice));
    runtime->vulkan = vulkan;
    if (!vulkan || !vulkan_open_instance(vulkan) || !vulkan_choose(vulkan, device_index)) {
        return false;
    }
    vulkan_find_family(vulkan, vulkan->physical, &vulkan->family);
    vulkan_read_properties(vulkan);
    snprintf(runtime->name, sizeof runtime->name, "%.255s", vulkan->properties.deviceName);
    /* Memory that the host accesses uncached (a window over PCIe) is read at a few MB/s, so it does not count as
       visible. */
    vulkan->is_mapped = vulkan_memory_type(vulkan, UINT32_MAX, MEMORY_LOCAL | MEMORY_CACHED) >= 0;
    if (!vulkan_read_extensions(vulkan)) {
        return false;
    }
    vulkan_read_features(vulkan);
    return vulkan_create_device(runtime) && vulkan_create_slots(runtime);
}

static void vulkan_close(TiRuntime runtime) {
    VulkanDevice *vulkan = runtime->vulkan;
    int i;
    if (!vulkan) {
        return;
    }
    for (i = 0; vulkan->device && i < SLOTS; i++) {
        if (vulkan->slots[i].fence) {
            vulkan->api.DestroyFence(vulkan->device, vulkan->slots[i].fence, NULL);
        }
        if (vulkan->slots[i].descriptors) {
            vulkan->api.DestroyDescriptorPool(vulkan->device, vulkan->slots[i].descriptors, NULL);
        }
    }
    if (vulkan->pool) {
        vulkan->api.DestroyCommandPool(vulkan->device, vulkan->pool, NULL);
    }
    if (vulkan->device && vulkan->api.DestroyDevice) {
        vulkan->api.DestroyDevice(vulkan->device, NULL);
    }
    if (vulkan->instance && vulkan->api.DestroyInstance) {
        vulkan->api.DestroyInstance(vulkan->instance, NULL);
    }
    free(vulkan);
    runtime->vulkan = NULL;
}

static bool vulkan_enter(TiRuntime runtime) {
    return runtime->vulkan->is_lost
               ? fail(TI_ERROR_INVALID_STATE, "%s was lost before; make a new runtime", runtime->name)
               : true;
}

static void vulkan_leave(TiRuntime runtime) {
    (void)runtime;
}
