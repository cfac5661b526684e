"""The parts of the page, one module each: a Source in, Html out."""
