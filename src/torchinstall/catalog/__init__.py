"""The compatibility data: ``index_data/`` read into frozen rows, with look-ups."""
