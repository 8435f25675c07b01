"""The demonstration: airports, real flights, what joining brings."""
