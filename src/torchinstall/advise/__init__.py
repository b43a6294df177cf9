"""Should I upgrade? Rules over versions and machine, and a scan of code for what will break. Pure."""
