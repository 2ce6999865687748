"""Tables in which a stream looks things up."""
