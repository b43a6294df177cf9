"""The one room that looks at the machine: facts with their sources, no decisions, no exceptions past ``detect``."""
