"""The kit of all pages: templates, figures that save themselves, numbers as text, colours."""
