"""A plan as a file that another tool reads: requirements, lock, project, environment, image."""
