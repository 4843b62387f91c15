"""`label_error`: the price of errors in A's labels: how they move W1, gap and verdict, and the gap without them."""
