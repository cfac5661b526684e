"""What the machine can be made to do while a run is measured, and undoing it: cores, control groups. Knows no broker."""
