"""What several packages need and none owns: a deadline, a reader of JSON problems, a builder of integer programs."""
