"""Live indexes, mirrors and folders of wheels: what they have, read side by side within a time limit."""
