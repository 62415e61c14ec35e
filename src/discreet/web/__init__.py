"""The page that recommends in the browser: a folder of plain files, made from what was released and from nothing else."""
