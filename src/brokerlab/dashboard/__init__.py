"""Results and live evidence → web pages on loopback, with the report's chart modules; the same live in a terminal."""
