"""Environment variables that say something of accelerators: masks, overrides, what a container image was made for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.probe.system import System

# Exact names: NVIDIA_API_KEY and the like begin alike and are secrets.
REPORTED = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_VERSION",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_REQUIRE_CUDA",
    "NVIDIA_DISABLE_REQUIRE",
    "NVIDIA_PYTORCH_VERSION",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "HSA_OVERRIDE_GFX_VERSION",
    "PYTORCH_ROCM_ARCH",
    "ROCM_VERSION",
    "ROCM_PATH",
    "ZE_AFFINITY_MASK",
    "ONEAPI_DEVICE_SELECTOR",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "ASCEND_TOOLKIT_HOME",
    "ASCEND_HOME_PATH",
    "ASCEND_OPP_PATH",
    "TORCH_CUDA_ARCH_LIST",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
    "LD_LIBRARY_PATH",
    "CONDA_OVERRIDE_CUDA",
)

_NO_DEVICE = frozenset({"", "void", "none"})


def reported_variables(system: System) -> dict[str, str]:
    """Return those variables that are set, word for word."""
    return {name: system.environ[name] for name in REPORTED if name in system.environ}


def accelerator_hints(system: System) -> tuple[str, ...]:
    """Return the variables by which a container image says that it was made for an accelerator."""
    environ = system.environ
    hints = [f"{name}={environ[name]}" for name in ("NVIDIA_REQUIRE_CUDA", "CUDA_VERSION") if environ.get(name)]
    given = environ.get("NVIDIA_VISIBLE_DEVICES", "")
    if given not in _NO_DEVICE:
        hints.append(f"NVIDIA_VISIBLE_DEVICES={given}")
    # Of these families only the reported ones are shown with their value.
    families = [name for name in sorted(environ) if name.startswith(("ROCM_", "ASCEND_")) and environ[name]]
    hints.extend(f"{name}={environ[name]}" if name in REPORTED else name for name in families)
    return tuple(hints)


def build_hints(system: System) -> tuple[str, ...]:
    """Return what a build says of the cards that its image is meant for; a hint for people, never the answer."""
    value = system.environ.get("TORCH_CUDA_ARCH_LIST")
    return (f"TORCH_CUDA_ARCH_LIST={value}",) if value else ()
