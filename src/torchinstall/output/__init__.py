"""Values to text and JSON. Knows nothing but the values."""
