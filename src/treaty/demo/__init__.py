"""The demonstration: sixteen airlines, real flights."""
