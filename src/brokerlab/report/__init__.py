"""Results to one HTML file."""
