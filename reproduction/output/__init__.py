"""What is kept of a run: its record (JSON) and picture, and the pages and tables made from records."""
