"""Adapters against real and hostile servers on loopback."""
