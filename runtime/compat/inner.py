"""Taichi's inner modules, made from a table when they are imported: `taichi.lang.field`, `taichi._kernels`.

In: an import path below the root package. Out: a module with those of Taichi's names that mean something here. What is
inside Taichi's compiler means nothing here: reading it, or importing it by name, gives an error that says so.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from functools import cache, reduce
from importlib.machinery import ModuleSpec
from types import ModuleType

from ...transpiler.errors import NotYetError
from ..loading import SameModule
from ..missing_names import for_reader

PACKAGE = __name__.split(".")[0]

TABLE = {
    "_funcs": "randn polar_decompose eig sym_eig svd solve",
    "_kernels": """runtime.compat.kernels: blit_from_field_to_field clear_gradients ext_arr_to_matrix
        ext_arr_to_ndarray ext_arr_to_tensor ext_arr_to_ndarray_matrix field_fill_python_scope fill_field fill_ndarray
        fill_ndarray_matrix matrix_to_ext_arr ndarray_matrix_to_ext_arr ndarray_to_ext_arr ndarray_to_ndarray
        tensor_to_ext_arr tensor_to_image tensor_to_tensor vector_to_image""",
    "_main": "runtime.ti: main",
    "_snode": "FieldsBuilder",
    "_snode.fields_builder": "FieldsBuilder",
    "_snode.snode_tree": "runtime.fields.fields_builder: SNodeTree",
    "_ti_module": "",
    "_ti_module.cppgen": "",
    "_ti_module.module": "",
    "_version_check": "",
    "ad._ad": "ad: FwdMode Tape clear_all_gradients grad_for grad_replaced no_grad",
    "algorithms._algorithms": "algorithms: PrefixSumExecutor parallel_sort",
    "aot._export": "aot: export export_as",
    "aot.conventions": "",
    "aot.conventions.gfxruntime140": "",
    "aot.conventions.gfxruntime140.dr": "",
    "aot.conventions.gfxruntime140.sr": "",
    "aot.module": "aot: Module KernelTemplate",
    "aot.utils": "",
    "assets": "",
    "graph._graph": "graph: Arg ArgKind Graph GraphBuilder",
    "lang._ndarray": "Ndarray ScalarNdarray",
    "lang._ndrange": "ndrange",
    "lang._texture": "Texture Format",
    "lang._wrap_inspect": "",
    "lang.any_array": "",
    "lang.argpack": "ArgPack transpiler.lang.packs: ArgPackType",
    "lang.ast": "",
    "lang.ast.ast_transformer": "",
    "lang.ast.ast_transformer_utils": "",
    "lang.ast.checkers": "",
    "lang.ast.symbol_resolver": "",
    "lang.ast.transform": "",
    "lang.common_ops": "",
    "lang.enums": "Layout Format DeviceCapability runtime.ad.clearing: AutodiffMode SNodeGradType",
    "lang.expr": "",
    "lang.field": "Field ScalarField BitpackedFields",
    "lang.impl": "Field FieldsBuilder Matrix MatrixField MatrixNdarray SNode Struct StructField Vector axes root",
    "lang.kernel_arguments": "",
    "lang.kernel_impl": """real_func ArgPack Matrix Layout TaichiCompilationError TaichiRuntimeError TaichiSyntaxError
        TaichiTypeError TaichiRuntimeTypeError""",
    "lang.matrix": "Field Layout Ndarray ScalarField TaichiRuntimeError TaichiSyntaxError TaichiTypeError",
    "lang.matrix_ops": "Matrix Vector",
    "lang.matrix_ops_utils": "",
    "lang.mesh": """Mesh MeshInstance runtime.fields.mesh: MeshBuilder MeshElement MeshElementField MeshMetadata
        _TetMesh _TriMesh""",
    "lang.misc": """axes f32 f64 i32 i64 i j k l ij ik il jk jl kl ijk ijl ikl jkl ijkl assume_in_range block_local
        cache_read_only global_thread_idx loop_unique mesh_local mesh_patch_idx no_activate""",
    "lang.ops": """Field TaichiSyntaxError frexp math: clz popcnt mod""",
    "lang.runtime_ops": "sync",
    "lang.shell": "",
    "lang.snode": "SNode activate append deactivate get_addr is_active length rescale_index",
    "lang.source_builder": "",
    "lang.struct": "Field Layout Matrix ScalarField TaichiRuntimeTypeError TaichiSyntaxError TaichiTypeError",
    "lang.util": "f16 f32 f64 i16 i32 i64 i8 is_logging_effective u1 u16 u32 u64 u8",
    "linalg.matrixfree_cg": "linalg: LinearOperator MatrixFreeBICGSTAB MatrixFreeCG",
    "linalg.sparse_cg": "linalg: SparseCG",
    "linalg.sparse_matrix": "linalg: SparseMatrix SparseMatrixBuilder",
    "linalg.sparse_solver": "linalg: SparseSolver SparseMatrix",
    "math._complex": "math: cconj cdiv cexp cinv clog cmul cpow csqrt",
    "math.mathimpl": """math: acos asin atan2 ceil clamp clz cos cross degrees determinant distance dot e exp eye floor
        fract inf inverse isinf isnan ivec2 ivec3 ivec4 length log log2 mat2 mat3 mat4 max min mix mod nan normalize pi
        popcnt pow radians reflect refract rot_by_axis rot_yaw_pitch_roll rotation2d rotation3d round scale sign sin
        smoothstep sqrt step tan tanh translate uvec2 uvec3 uvec4 vdir vec2 vec3 vec4""",
    "profiler.kernel_metrics": "profiler: CuptiMetric get_predefined_cupti_metrics",
    "profiler.kernel_profiler": """profiler: clear_kernel_profiler_info collect_kernel_profiler_metrics
        get_kernel_profiler_total_time print_kernel_profiler_info query_kernel_profiler_info set_kernel_profiler_metrics
        set_kernel_profiler_toolkit""",
    "profiler.memory_profiler": "profiler: print_memory_profiler_info",
    "profiler.scoped_profiler": "profiler: clear_scoped_profiler_info print_scoped_profiler_info",
    "sparse._sparse_grid": "sparse: grid usage",
    "types.annotations": "types: ref template sparse_matrix_builder",
    "types.compound_types": """types: matrix struct vector argpack transpiler.lang.annotations: MatrixType VectorType
        transpiler.lang.struct: StructType transpiler.lang.packs: ArgPackType""",
    "types.ndarray_type": "types: ndarray NDArray transpiler.lang.annotations: NdarrayAnnotation",
    "types.quant": "runtime.compat.quant: fixed float int",
    "types.texture_type": "types: texture rw_texture transpiler.lang.textures: RWTextureType TextureType Format",
    "ui.camera": "ui: Camera",
    "ui.canvas": "ui: Canvas",
    "ui.constants": """ui: ALT BACKSPACE CAPSLOCK CTRL DOWN ESCAPE LEFT LMB MMB PRESS RELEASE RETURN RIGHT RMB SHIFT
        SPACE TAB UP""",
    "ui.gui": "GUI hex_to_rgb rgb_to_hex",
    "ui.imgui": "ui: Gui",
    "ui.scene": "ui: Scene",
    "ui.staging_buffer": "",
    "ui.ui": """ui: ALT BACKSPACE CAPSLOCK CTRL Camera Canvas DOWN ESCAPE Gui LEFT LMB MMB PRESS ProjectionMode RELEASE
        RETURN RIGHT RMB SHIFT SPACE Scene TAB UP Window check_ggui_availability make_camera""",
    "ui.utils": "ui: check_ggui_availability runtime.gui.scene: euler_to_vec vec_to_euler",
    "ui.window": "ui: Window",
}
"""By path below the root package: names of the root, or of the module that is named before them with a colon."""

OTHERS = {"examples.patterns": "runtime.compat.patterns"}
"""Paths whose module is a file of ours."""


def find(fullname: str, path: str) -> ModuleSpec | None:
    """Return the specification of an inner module of Taichi, None for paths that Taichi lacks."""
    if path in OTHERS:
        return ModuleSpec(fullname, SameModule(f"{PACKAGE}.{OTHERS[path]}"))  # type: ignore[arg-type]
    return ModuleSpec(fullname, _Loader(path), is_package=True) if path in TABLE else None  # type: ignore[arg-type]


class _Loader:
    def __init__(self, path: str) -> None:
        self.path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return InnerModule(spec.name, self.path)

    def exec_module(self, module: ModuleType) -> None:
        pass


class InnerModule(ModuleType):
    """A module of `TABLE`."""

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name, f"Taichi's module `taichi.{path}`.")
        self._path, self._sources = path, sources_of(TABLE[path])

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self._sources})

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self._sources:
            raise inside(self._path, name)
        try:
            return vars(self).setdefault(name, getattr(self._sources[name](), name))
        except NotYetError as error:
            raise for_reader(error, sys._getframe(1)) from None


@cache
def sources_of(names: str) -> dict[str, _Source]:
    """Return where each name of an entry of `TABLE` is found."""
    found, source = {}, _Source("")
    for word in names.split():
        if word.endswith(":"):
            source = _Source(word[:-1])
        else:
            found[word] = source
    return found


class _Source:
    """A module below the root package, imported by a call."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self) -> object:
        if self.path.startswith(("runtime.", "transpiler.")):
            return importlib.import_module(f"{PACKAGE}.{self.path}")
        return reduce(getattr, self.path.split(".") if self.path else (), sys.modules[PACKAGE])


def member(parent: str, name: str) -> object:
    """Return module `parent.name` of `TABLE`, which Taichi's programs use without importing it; else raise `inside`."""
    path = f"{parent}.{name}".lstrip(".")
    if path in TABLE:
        return importlib.import_module(f"{PACKAGE}.{path}")
    raise inside(parent, name, depth=3)


def reader_of(path: str) -> Callable[[str], object]:
    """Return a `__getattr__` for a file that is module `path`: Taichi's names that it imports from elsewhere."""

    def read(name: str) -> object:
        if not name.startswith("__") and name in (sources := sources_of(TABLE.get(path, ""))):
            return getattr(sources[name](), name)
        if name.startswith("__"):
            raise AttributeError(name)
        raise inside(path, name)

    return read


def inside(path: str, name: str, depth: int = 2) -> Exception:
    """Return the error for a name inside Taichi's compiler, to be raised by a module's `__getattr__`."""
    message = (
        f"taichi.{path}.{name} is inside Taichi's compiler and means nothing in shadesmith. "
        "Hint: docs/coming-from-taichi.md says what to use instead"
    )
    return for_reader(AttributeError(message, name=name), sys._getframe(depth))
