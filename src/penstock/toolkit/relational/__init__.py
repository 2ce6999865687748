"""The relational operators: Aggregate, Filter, Functor, Join, Match, Punctor, Sort."""
