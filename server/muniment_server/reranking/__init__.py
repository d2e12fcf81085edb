"""Models that read a query together with each of the best candidates: optional, and left out when late."""
