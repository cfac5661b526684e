"""Results → one HTML file that opens from disk without a network."""
