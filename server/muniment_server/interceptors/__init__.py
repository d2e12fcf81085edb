"""What every call passes on its way to a handler, in one settled order (see `chain`)."""
