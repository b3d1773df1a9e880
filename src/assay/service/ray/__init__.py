"""The service on Ray: its app as a Ray Serve ingress, its engines as actors that all ingress replicas share."""
