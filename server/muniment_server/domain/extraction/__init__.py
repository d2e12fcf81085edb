"""What a conversation may leave behind: turns, candidate memories, and the rules that find them."""
