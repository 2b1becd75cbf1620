"""Several kernel arguments under one name: `ti.types.argpack`, and Python's dataclasses that hold arrays and numbers.

Input: names with annotations. Output: `ArgPackType`, which creates `ArgPack` values; `members_of`, by which the rest of
the compiler sees a pack as the parameters it represents. A kernel takes only those members that it uses.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import ItemsView, Iterator, KeysView
from keyword import iskeyword
from typing import Any, NoReturn

from .annotations import NdarrayAnnotation, is_template, type_of
from .textures import RWTextureType, TextureType


class ArgPackType:
    """The annotation of a parameter that represents several. members: annotation by name.

    Calling it creates an `ArgPack`; omitted members are zero, and may not be arrays or textures. Raises: ValueError for
    a member whose type is no parameter type, or whose name is no identifier.

    Example:
        >>> Sky = ti.types.argpack(sun=ti.math.vec3, haze=ti.f32)
        >>> @ti.kernel
        ... def shade(sky: Sky) -> ti.f32:
        ...     return sky.sun.y * sky.haze
        >>> shade(Sky(sun=ti.math.vec3(0, 1, 0), haze=0.5))
        0.5
    """

    __slots__ = ("members",)

    def __init__(self, **members: Any) -> None:
        for name, annotation in members.items():
            if not name.isidentifier() or iskeyword(name) or name.startswith("_") or hasattr(ArgPack, name):
                raise ValueError(f"`{name}` cannot be the name of an argument pack's member")
            is_type = isinstance(annotation, (NdarrayAnnotation, ArgPackType, TextureType, RWTextureType))
            if not is_type and not is_template(annotation):
                type_of(annotation)
        self.members = members

    def __call__(self, *args: Any, **kwargs: Any) -> ArgPack:
        """Return a pack of these values, by position or name. Raises: TypeError for too many or unknown ones."""
        if len(args) > len(self.members):
            raise TypeError(f"{self} takes {len(self.members)} values, and {len(args)} were given")
        values = dict(zip(self.members, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.members or name in values:
                known = "is given twice" if name in values else f"is no member; there are {', '.join(self.members)}"
                raise TypeError(f"{self}: `{name}` {known}")
            values[name] = value
        return ArgPack(
            self,
            {
                name: values[name] if name in values else self._zero(name, annotation)
                for name, annotation in self.members.items()
            },
        )

    def _zero(self, name: str, annotation: Any) -> Any:
        if isinstance(annotation, ArgPackType):
            return annotation()
        if isinstance(annotation, (NdarrayAnnotation, TextureType, RWTextureType)) or is_template(annotation):
            raise TypeError(f"{self} needs a value for `{name}`")
        return annotation(0)

    def __repr__(self) -> str:
        return f"ti.types.argpack({', '.join(self.members)})"


class ArgPack:
    """Values of the members of an `ArgPackType`, as attributes; they may be changed between launches.

    type: the result of `ti.types.argpack`. values: by name.

    Example:
        >>> Pair = ti.types.argpack(a=ti.f32, b=ti.i32)
        >>> pair = Pair(a=0.5, b=3)
        >>> pair.a, pair.b
        (0.5, 3)
    """

    def __init__(self, type: ArgPackType, values: dict[str, Any]) -> None:
        self.__dict__.update(values, _type=type)

    @property
    def _members(self) -> dict[str, Any]:
        type: ArgPackType = self.__dict__["_type"]
        return type.members

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._members:
            self.__getattr__(name)
        self.__dict__[name] = value

    def __getattr__(self, name: str) -> NoReturn:
        members = ", ".join(self.__dict__["_type"].members) if "_type" in self.__dict__ else ""
        raise AttributeError(f"this argument pack has no member `{name}`; it has {members}")

    def __getitem__(self, name: str) -> Any:
        if name not in self._members:
            raise KeyError(name)
        return self.__dict__[name]

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    @property
    def keys(self) -> KeysView[str]:
        """Names of the members."""
        return self.to_dict().keys()

    @property
    def items(self) -> ItemsView[str, Any]:
        """Names and values of the members."""
        return self.to_dict().items()

    def to_dict(self) -> dict[str, Any]:
        """Return the members by name; nested packs are dicts, too."""
        values = {name: self.__dict__[name] for name in self._members}
        return {name: value.to_dict() if isinstance(value, ArgPack) else value for name, value in values.items()}

    def __repr__(self) -> str:
        return f"<ti.ArgPack {self.to_dict()}>"


def members_of(annotation: Any) -> dict[str, Any] | None:
    """Return the annotations of a pack's members by name, None for other annotations.

    String annotations of a dataclass (`from __future__ import annotations`) are evaluated in its module.
    Raises: NameError and its subclasses if one cannot be evaluated.
    """
    if isinstance(annotation, ArgPackType):
        return annotation.members
    if not (isinstance(annotation, type) and dataclasses.is_dataclass(annotation)) or is_template(annotation):
        return None
    if annotation in (TextureType, RWTextureType):  # without its arguments: an annotation that is rejected
        return None
    names = vars(sys.modules[annotation.__module__])
    return {
        field.name: eval(field.type, names) if isinstance(field.type, str) else field.type
        for field in dataclasses.fields(annotation)
    }


def flattened_members(annotation: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return path and annotation of all that is no pack below `annotation`, in order; the path of itself is ()."""
    members = members_of(annotation)
    if members is None:
        yield path, annotation
        return
    for name, member in members.items():
        yield from flattened_members(member, (*path, name))
