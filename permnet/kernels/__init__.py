"""Fast paths behind ordinary functions; the plain path stays the definition."""
