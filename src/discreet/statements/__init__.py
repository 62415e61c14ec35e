"""The privacy statement as a document: what it means in plain words, as text, page and JSON, and its signature."""

from discreet.statements.document import Document, write_document

__all__ = ["Document", "write_document"]
