"""Sees the machine, picks the one right PyTorch build, installs it, proves it with a real kernel."""

__version__ = "0.1.0"
