"""Generated from proto/ by `make generate`. Do not edit."""
