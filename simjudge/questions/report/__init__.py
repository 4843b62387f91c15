"""`report`: pages of saved results, and files for rerun and FiftyOne."""
