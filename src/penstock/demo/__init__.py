"""`penstock demo`: the whole story on one example, bargain detection, from its source to a cluster."""
