"""Proof that an installed torch works: a real kernel on every device that it sees, in a process of its own."""
