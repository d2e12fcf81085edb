"""Gates: what is looked at before a statement is stored."""
