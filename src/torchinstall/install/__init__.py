"""The target environment, what uv and pip are configured with, and the transaction that changes it."""
