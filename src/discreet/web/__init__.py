"""The page that recommends in the browser: a folder of plain files, made from what was released alone."""
