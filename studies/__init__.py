"""Published experiments, repeated with Fairwind; every folder is one study."""
