"""Machines from text that people paste: what a vendor's tool printed, read by the parsers of the live probes."""

from __future__ import annotations

from torchinstall.probe.pasted.read import read_pasted

__all__ = ["read_pasted"]
