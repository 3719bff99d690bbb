"""How aggressive congestion controls and mechanisms of thin streams are against a reference."""
