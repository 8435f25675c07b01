"""Both papers once more: their data, their figures, their claims."""
