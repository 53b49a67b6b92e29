"""A person's hook, loaded from its file: fresh for each run, with the modules of its project."""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from agentcore.live.seeded import clocked

__all__ = ["HookNotFoundError", "HookSource", "Loaded", "ValueSource", "is_own_file"]

_OUTSIDE: Final = frozenset({"site-packages", "dist-packages", "node_modules", ".venv", "venv"})
_PACKAGE: Final = Path(__file__).resolve().parent.parent
_ASYNC: Final = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
_ALONE: Final = "checked_hook"


class HookNotFoundError(Exception):
    """The hook cannot be loaded; the text says why, and what to do."""


@dataclass(frozen=True)
class Loaded:
    """A hook of one run.

    Attributes:
        call: the function that the framework is to call.
        is_async: whether it is a coroutine function.
        name: the name it is reported by.
        owner: the object whose method it is; None for a function.
        method: the name of the method.
    """

    call: Callable[..., Any]
    is_async: bool
    name: str
    owner: Any = None
    method: str = ""

    def with_method(self, made: Callable[..., Any]) -> Any:
        """Returns the owner with a function in place of the method; its class is a subclass made for it."""
        owner = self.owner
        if owner is None:
            return None
        cls = type(owner)
        if not hasattr(cls, self.method):
            object.__setattr__(owner, self.method, made)  # a function in a field, as a guardrail has it
            return owner

        def method(_: Any, *args: Any, **options: Any) -> Any:
            return made(*args, **options)

        async def method_async(_: Any, *args: Any, **options: Any) -> Any:
            return await made(*args, **options)

        put = method_async if self.is_async else method
        functools.update_wrapper(put, getattr(cls, self.method))
        body = {self.method: put, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
        metaclass: Any = type(cls)
        owner.__class__ = metaclass(cls.__name__, (cls,), {**body, "__slots__": ()})
        return owner


@dataclass(frozen=True)
class HookSource:
    """A hook's source: its file or module, its name, and how it is made.

    Attributes:
        target: the file, or the name of the module.
        attribute: the export, with dots for what is in it.
        project: the folder whose modules are fresh in each run.
        factory: whether the export makes the hook.
        methods: the names of the method that the framework calls on an object, sync before async.
        bases: classes whose own methods are no hooks.
    """

    target: str
    attribute: str
    project: Path
    factory: bool = False
    methods: Sequence[str] = ()
    bases: Sequence[type] = ()

    @property
    def file(self) -> Path | None:
        """The hook's file; None if the hook is named by its module."""
        return Path(self.target).resolve() if self.target.endswith(".py") else None

    def load(self) -> Loaded:
        """Loads the hook anew, its module and those of its project included.

        Raises:
            HookNotFoundError: if there is none, or if its module raises.
        """
        with _fresh_modules(self.project):
            module = self._module()
            for name in _own_names(self.project):
                clocked(sys.modules[name])
            return _resolved(self._exported(module), self.attribute, self.methods, self.bases)

    def _module(self) -> ModuleType:
        file = self.file
        if file is None:
            return self._imported(self.target, self.project)
        if not file.is_file():
            raise HookNotFoundError(f"there is no file {self.target}")
        parts, root = [file.stem], file.parent
        while (root / "__init__.py").is_file():
            parts.insert(0, root.name)
            root = root.parent
        if parts[-1] == "__init__":
            parts.pop()
        if len(parts) > 1:
            return self._imported(".".join(parts), root)
        return self._alone(file)

    def _imported(self, name: str, root: Path) -> ModuleType:
        _search(root)
        try:
            return importlib.import_module(name)
        except Exception as error:
            raise HookNotFoundError(f"{name} could not be imported: {_error_text(error)}") from error

    def _alone(self, file: Path) -> ModuleType:
        _search(file.parent)
        name = (
            file.stem if importlib.machinery.PathFinder.find_spec(file.stem, [str(file.parent)]) else _ALONE
        )
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise HookNotFoundError(f"{file} is no Python file")
        module = importlib.util.module_from_spec(spec)
        if name in sys.modules and not _is_own(sys.modules[name], self.project):
            # A hook may be in a file that is named as a package is: `langchain.py`.
            module = importlib.util.module_from_spec(
                importlib.util.spec_from_file_location(_ALONE, file) or spec
            )
        sys.modules[module.__name__] = module
        try:
            (module.__spec__ or spec).loader.exec_module(module)  # type: ignore[union-attr]
        except Exception as error:
            raise HookNotFoundError(f"{file.name} could not be loaded: {_error_text(error)}") from error
        return module

    def _exported(self, module: ModuleType) -> Any:
        found: Any = module
        for name in self.attribute.split("."):
            if not hasattr(found, name):
                there = ", ".join(sorted(each for each in vars(module) if not each.startswith("_"))[:20])
                raise HookNotFoundError(f"{self.target} has no {self.attribute}; it has: {there}")
            found = getattr(found, name)
        if not self.factory:
            return found
        if not callable(found):
            raise HookNotFoundError(f"{self.attribute} cannot be called; leave --factory out")
        try:
            return found()
        except Exception as error:
            raise HookNotFoundError(f"the factory {self.attribute} raised {_error_text(error)}") from error


@dataclass(frozen=True)
class ValueSource:
    """A hook that is at hand, made anew for each run by `make`."""

    make: Callable[[], Any]
    methods: Sequence[str]
    bases: Sequence[type]
    project: Path
    name: str

    def load(self) -> Loaded:
        """Returns the hook of a run."""
        return _resolved(self.make(), self.name, self.methods, self.bases)


def _resolved(found: Any, attribute: str, methods: Sequence[str], bases: Sequence[type]) -> Loaded:
    if isinstance(found, type):
        try:
            found = found()
        except Exception as error:
            raise HookNotFoundError(
                f"{attribute} is a class that cannot be made without arguments: {_error_text(error)};"
                " export a factory and say --factory"
            ) from error
    for name in methods:
        method = _own_method(found, name, bases)
        if method is not None:
            return Loaded(method, _is_async(method), f"{attribute}.{name}", found, name)
    if not callable(found):
        looked = " or ".join(methods) or "a method"
        raise HookNotFoundError(f"{attribute} is a {type(found).__name__} without {looked} of its own")
    return Loaded(found, _is_async(found), attribute)


def _own_method(found: Any, name: str, bases: Sequence[type]) -> Callable[..., Any] | None:
    method = getattr(found, name, None)
    # A function may carry anything as an attribute, and is a hook by itself.
    if inspect.isfunction(found) or not callable(method):
        return None
    own = getattr(type(found), name, None)
    if any(getattr(base, name, None) is own for base in bases if isinstance(found, base)):
        return None
    return method  # type: ignore[no-any-return]


def _is_async(call: Any) -> bool:
    while isinstance(call, functools.partial):
        call = call.func
    # Of an object that is called, the method counts.
    made = call if inspect.isroutine(call) else call.__call__
    return any(is_async(each) for each in (call, made) for is_async in _ASYNC)


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _search(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _is_own(module: Any, project: Path) -> bool:
    file = getattr(module, "__file__", None)
    return (
        isinstance(file, str) and getattr(module, "__name__", "") != "__main__" and is_own_file(file, project)
    )


@functools.lru_cache(maxsize=10_000)
def is_own_file(file: str, project: Path) -> bool:
    """True for a file of the person's own: in the project, and in none of its environments."""
    path = Path(file)
    if path.is_relative_to(_PACKAGE) or not path.is_relative_to(project):
        return False
    return _OUTSIDE.isdisjoint(path.relative_to(project).parts)


@contextmanager
def _fresh_modules(project: Path) -> Iterator[None]:
    """Forgets the project's modules, so that what follows loads them anew."""
    for name in _own_names(project):
        del sys.modules[name]
    yield


# Modules that are nobody's own, by project: a framework has some thousand, and each run asks twice.
_FOREIGN: Final[dict[Path, set[str]]] = {}


def _own_names(project: Path) -> list[str]:
    """The names of the project's modules that are imported."""
    foreign = _FOREIGN.setdefault(project, set())
    foreign.intersection_update(sys.modules)  # one that is imported anew may be another
    own = []
    for name in [each for each in sys.modules if each not in foreign]:
        if _is_own(sys.modules[name], project):
            own.append(name)
        else:
            foreign.add(name)
    return own
