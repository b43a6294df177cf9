"""``signatures.json``: the texts of reports that the doctor recognises."""

from __future__ import annotations

from torchinstall.catalog.row_reader import broken, top

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.model.cause import Signatures


def parse_signatures(document: object, file: str) -> Signatures:
    """Return the table of signatures. Raises ``CatalogError`` naming the row that is broken."""
    from torchinstall.model.cause import signatures_from_document

    sheet = top(document, file)
    for row in sheet.rows("rows", ("id",)):
        row.status()
        row.source()
        for name in ("kind", "action", "strength", "pattern", "cause", "remedy", "checked"):
            row.text(name)
    try:
        return signatures_from_document(sheet.fields)
    except (KeyError, TypeError, ValueError) as error:
        raise broken(file, "rows", f"don't make signatures: {error}") from error
