from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.launch.profiler import CuptiMetric as CuptiMetric
def clear_kernel_profiler_info() -> None:
    """Forget all recorded launches."""
def clear_scoped_profiler_info() -> None:
    """Do nothing: there are no scopes."""
def collect_kernel_profiler_metrics(metric_list: Any = ...) -> Any:
    """Time the launches of a `with` block; its counters are not read, and a message says so."""
def export_chrome_trace(path: Any) -> None:
    """Write all recorded launches as a trace that chrome://tracing and https://ui.perfetto.dev show."""
def get_kernel_profiler_total_time() -> Any:
    """Return how long all recorded launches took together [s]."""
def get_predefined_cupti_metrics(name: Any = ...) -> Any:
    """Return a list of counters by name; None, with a warning, for an unknown name."""
def print_kernel_profiler_info(mode: Any = ...) -> None:
    """Print a table of kernels ("count"), or of all launches in order ("trace")."""
def print_memory_profiler_info() -> None:
    """Print how much memory of the device each field, ndarray and tree owns, the largest first."""
def print_roofline() -> None:
    """Print a line for each recorded task: how close it comes to the device's bandwidth or arithmetic."""
def print_scoped_profiler_info() -> None:
    """Print where the times of the compiler are: Taichi shows the functions of its own here."""
def query_kernel_profiler_info(name: Any) -> Any:
    """Return number and times [ms] of the launches of kernel `name`, or of a task; None if times are not recorded."""
def roofline() -> Any:
    """Return for each recorded task its bytes and operations, counted in the IR, and the share of what the device can."""
def set_kernel_profiler_metrics(metric_list: Any = ...) -> None:
    """Clear the records, as Taichi does; the counters themselves are not read, and a message says so."""
def set_kernel_profiler_toolkit(toolkit_name: Any = ...) -> Any:
    """Return whether launches are timed by `toolkit_name`: "default" only, since CUPTI's counters are not read."""
