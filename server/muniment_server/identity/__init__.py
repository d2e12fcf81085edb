"""Who is calling: credentials, what they allow, and the context of the current call."""
