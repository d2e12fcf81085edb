"""Pure rules and types; imports neither protobuf nor SQL."""
