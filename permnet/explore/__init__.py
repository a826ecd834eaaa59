"""A page that shows how a model resolves a reference, served to a browser or kept in one file."""
