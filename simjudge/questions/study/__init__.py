"""`study`: many steps from one file, done once, in parallel, with a page. It may use every other question."""
