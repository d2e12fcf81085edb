"""Two memory libraries beside the service."""
