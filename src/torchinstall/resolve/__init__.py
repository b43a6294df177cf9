"""The decision: machine, request, catalogue and sightings in, one plan out. Pure."""
