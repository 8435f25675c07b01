"""Studies: loaders and generators of the four kinds of records: lending, fraud, hospital, flights."""
