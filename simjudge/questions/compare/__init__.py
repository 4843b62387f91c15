"""`compare` and `sweep`: how well B predicts A; result, figures, words and page."""
