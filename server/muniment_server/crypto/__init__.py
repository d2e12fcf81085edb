"""Keys, ciphertexts, seals and signatures. Algorithms come from `cryptography` and `hashlib`."""
