"""The same question asked again and again: which cells of many runs belong together."""
