"""What comes out: the result, how good it is, and the sentences that say so."""
