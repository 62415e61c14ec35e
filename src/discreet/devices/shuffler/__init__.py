"""The shuffler: between devices and collector, it learns who answers and not what, and hands on what and not who."""
