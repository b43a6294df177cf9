"""Diagnosis: facts of a machine and an environment, and texts of reports, to findings. Pure."""
