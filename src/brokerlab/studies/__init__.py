"""Published studies run again: a folder with experiments, published figures and claims; a verdict for each claim."""
