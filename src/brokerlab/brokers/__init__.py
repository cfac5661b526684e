"""One folder per broker; `contract` says what a folder must offer, `registry` lists the folders."""
