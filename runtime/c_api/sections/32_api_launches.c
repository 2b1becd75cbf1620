/* --- functions of shadesmith.h: launches, graphs, results --------------------------------------------------------- */

/* Expand the passed arguments to one entry a parameter, null for templates; the caller frees the list. */
static const TiArgument **spread_arguments(const KernelData *data, const TiArgument *args) {
    const TiArgument **arguments =
        (const TiArgument **)allocate_zeroed((data->parameter_count + 1) * sizeof(const TiArgument *));
    uint32_t i;
    for (i = 0; arguments && i < data->parameter_count; i++) {
        if (data->parameters[i].kind != PARAMETER_TEMPLATE) {
            arguments[i] = args++;
        }
    }
    return arguments;
}

void ti_launch_kernel(TiRuntime runtime, TiKernel kernel, uint32_t arg_count, const TiArgument *args) {
    const TiArgument **arguments;
    if (!check_handle(kernel, HANDLE_KERNEL, "kernel") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (arg_count && !args) {
        fail(TI_ERROR_ARGUMENT_NULL, "args is null");
        return;
    }
    if (kernel->module->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "kernel `%s` is of another runtime", kernel->data->name);
        return;
    }
    if (arg_count != passed_count(kernel->data, kernel->data->parameter_count)) {
        fail(TI_ERROR_INVALID_ARGUMENT, "kernel `%s` takes %u arguments, and %u were given", kernel->data->name,
             passed_count(kernel->data, kernel->data->parameter_count), arg_count);
        return;
    }
    if (!enter(runtime)) {
        return;
    }
    arguments = spread_arguments(kernel->data, args);
    if (arguments) {
        launch(runtime, kernel, arguments);
    }
    free(arguments);
    leave(runtime);
}

/* Find an argument of a graph by name among those passed. */
static const TiArgument *named_argument(const char *name, uint32_t arg_count, const TiNamedArgument *args) {
    uint32_t i;
    for (i = 0; i < arg_count; i++) {
        if (args[i].name && !strcmp(args[i].name, name)) {
            return &args[i].argument;
        }
    }
    return NULL;
}

static bool launch_dispatch(TiRuntime runtime, TiComputeGraph graph, const Dispatch *dispatch,
                            const TiArgument *const *graph_arguments) {
    TiKernel kernel = graph->module->kernels[dispatch->kernel];
    const TiArgument **arguments =
        (const TiArgument **)allocate_zeroed((kernel->data->parameter_count + 1) * sizeof(const TiArgument *));
    uint32_t i, next = 0;
    bool is_good = arguments != NULL;
    if (kernel->data->parameter_count > kernel->data->declared_count) {
        is_good = fail(TI_ERROR_NOT_SUPPORTED, "kernel `%.100s` takes gradients, which a graph passes to no kernel here",
                       kernel->data->name);
    }
    for (i = 0; is_good && i < kernel->data->parameter_count; i++) {
        if (kernel->data->parameters[i].kind != PARAMETER_TEMPLATE) {
            const DispatchArgument *argument = &dispatch->arguments[next++];
            arguments[i] = argument->argument < 0 ? &argument->constant : graph_arguments[argument->argument];
        }
    }
    is_good = is_good && launch(runtime, kernel, arguments);
    free(arguments);
    return is_good;
}

static bool launch_graph(TiRuntime runtime, TiComputeGraph graph, uint32_t arg_count, const TiNamedArgument *args) {
    const GraphData *data = graph->data;
    const TiArgument **graph_arguments =
        (const TiArgument **)allocate_zeroed((data->argument_count + 1) * sizeof(const TiArgument *));
    uint32_t i;
    bool is_good = graph_arguments != NULL;
    for (i = 0; is_good && i < arg_count; i++) {
        if (!args[i].name || find_named(data->argument_names, data->argument_count, sizeof(const char *),
                                        args[i].name) == data->argument_count) {
            is_good = fail(TI_ERROR_INVALID_ARGUMENT, "graph `%s` takes no argument `%.100s`", data->name,
                           args[i].name ? args[i].name : "null");
        }
    }
    for (i = 0; is_good && i < data->argument_count; i++) {
        graph_arguments[i] = named_argument(data->argument_names[i], arg_count, args);
        if (!graph_arguments[i]) {
            is_good = fail(TI_ERROR_ARGUMENT_NOT_FOUND, "graph `%s` takes argument `%s`, which is missing", data->name,
                           data->argument_names[i]);
        }
    }
    for (i = 0; is_good && i < data->dispatch_count; i++) {
        is_good = launch_dispatch(runtime, graph, &data->dispatches[i], graph_arguments) ||
                  fail_within("graph `%.100s`", data->name);
    }
    free(graph_arguments);
    return is_good;
}

void ti_launch_compute_graph(TiRuntime runtime, TiComputeGraph compute_graph, uint32_t arg_count,
                             const TiNamedArgument *args) {
    if (!check_handle(compute_graph, HANDLE_GRAPH, "compute_graph") ||
        !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (arg_count && !args) {
        fail(TI_ERROR_ARGUMENT_NULL, "args is null");
        return;
    }
    if (compute_graph->module->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "graph `%s` is of another runtime", compute_graph->data->name);
        return;
    }
    if (enter(runtime)) {
        launch_graph(runtime, compute_graph, arg_count, args);
        leave(runtime);
    }
}

void ti_get_kernel_result(TiRuntime runtime, TiKernel kernel, uint32_t number, void *value, uint64_t size) {
    if (!check_handle(kernel, HANDLE_KERNEL, "kernel") || !check_handle(runtime, HANDLE_RUNTIME, "runtime")) {
        return;
    }
    if (!value) {
        fail(TI_ERROR_ARGUMENT_NULL, "value is null");
        return;
    }
    if (kernel->module->runtime != runtime) {
        fail(TI_ERROR_INVALID_ARGUMENT, "kernel `%s` is of another runtime", kernel->data->name);
        return;
    }
    if (number >= kernel->data->result_count) {
        fail(TI_ERROR_ARGUMENT_OUT_OF_RANGE, "kernel `%s` returns %u values", kernel->data->name,
             kernel->data->result_count);
        return;
    }
    if (size != kernel->data->results[number].size) {
        fail(TI_ERROR_INVALID_ARGUMENT, "result %u of kernel `%s` has %u bytes", number, kernel->data->name,
             kernel->data->results[number].size);
        return;
    }
    if (!size) { /* an empty vector, which has no address */
        return;
    }
    if (enter(runtime)) {
        runtime->backend->read(runtime, kernel->results, kernel->data->results[number].offset, value, size);
        leave(runtime);
    }
}
