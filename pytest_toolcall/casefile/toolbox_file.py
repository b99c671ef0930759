"""The toolbox format: ``tools``. A toolbox on its own is checked and holds no entries."""

from __future__ import annotations

from pytest_toolcall.casefile.formats import Found, ReadContext
from pytest_toolcall.document.values import Document


def read(document: Document, context: ReadContext) -> Found:
    """Raises `DocumentError` with every problem found."""
    context.toolboxes.add(document)
    return (), ()
