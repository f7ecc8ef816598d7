"""Event stream decoders side by side: `python3 -m benchmarks` from the repository root."""
