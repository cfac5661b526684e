"""What two or more measurements are compared by: which cells belong together, and in what they are unlike."""
