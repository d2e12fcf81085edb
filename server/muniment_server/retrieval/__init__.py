"""Lexical analysis and ranking formulas. Pure: no storage, no protobuf."""
