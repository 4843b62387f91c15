"""Questions: each a folder with its settings, run, result, words, page and command. They do not import each other."""
