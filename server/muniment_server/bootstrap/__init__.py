"""From a settings object to a database that can be served from."""
