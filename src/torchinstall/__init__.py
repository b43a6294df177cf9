"""Sees the machine, picks the one right PyTorch build, installs it, proves it with a real kernel.

>>> import torchinstall
>>> torchinstall.plan("torch", gpu="RTX 5090", driver="570.86", offline=True).variant
'cu128'

Functions: ``detect``, ``plan``, ``install``, ``verify``, ``diagnose``. Errors: ``TorchInstallError`` and its
subclasses in ``torchinstall.errors``. Values: ``torchinstall.model``. Nothing is imported before it is used.
"""

from torchinstall._version import __version__

__all__ = ["TorchInstallError", "__version__", "detect", "diagnose", "install", "plan", "verify"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.app.api import detect, diagnose, install, plan, verify  # noqa: TC004 - found by __getattr__
    from torchinstall.errors import TorchInstallError  # noqa: TC004
else:
    import sys

    _Module = type(sys)  # types.ModuleType, without an import

    class _Room(_Module):
        """A room of the house that shares its name with a function: the package, and callable."""

        def __call__(self, *args, **options):  # noqa: ANN002, ANN003, ANN204
            """Do what the function of this name does."""
            from torchinstall.app import api

            return getattr(api, self.__name__.rpartition(".")[2])(*args, **options)

    class _Package(_Module):
        """The package: importing ``torchinstall.install.uv`` mustn't take ``torchinstall.install()`` away."""

        def __setattr__(self, name, value):  # noqa: ANN001, ANN204
            if name in {"install", "verify", "diagnose"} and type(value) is _Module:
                value.__class__ = _Room
            super().__setattr__(name, value)

        def __getattr__(self, name):  # noqa: ANN001, ANN204
            if name in {"install", "verify", "diagnose"}:
                from importlib import import_module

                return import_module(f"torchinstall.{name}")
            if name in {"detect", "plan", "diagnose"}:
                from torchinstall.app import api

                return getattr(api, name)
            if name == "TorchInstallError":
                from torchinstall.errors import TorchInstallError

                return TorchInstallError
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

        def __dir__(self):  # noqa: ANN204
            return sorted({*super().__dir__(), *__all__})

    sys.modules[__name__].__class__ = _Package
    del sys
