"""Frozen values: what the machine is, what was asked, what was decided, what was proved."""
