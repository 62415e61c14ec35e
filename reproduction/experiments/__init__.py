"""One module for each figure, table or plot of the papers, each with an ``EXPERIMENT``; nothing else lies here."""
