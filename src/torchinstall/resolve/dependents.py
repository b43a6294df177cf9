"""Requests for packages that require torch: chosen together with it where that is known, passed on where not."""

from __future__ import annotations

from torchinstall.model.sentences import reason
from torchinstall.resolve.wishes import admits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.plan import Reason
    from torchinstall.model.request import Request, Wish


def settled(request: Request, backend: str, catalog: Catalog) -> Request:
    """Return the request with dependents that nothing is known of among the packages that are passed on.

    That is so for a release that the data doesn't have, and on every backend but CUDA: their own builds of
    these packages are on other indexes.
    """
    unknown = [wish for wish in request.wishes if _is_unknown(wish, backend, catalog)]
    if not unknown:
        return request
    return request.replace(
        wishes=tuple(wish for wish in request.wishes if wish not in unknown),
        others=(*request.others, *(wish.text for wish in unknown)),
    )


def warnings(request: Request, catalog: Catalog) -> tuple[Reason, ...]:
    """Return what is to be said of packages that are passed on and that have a torch of their own in mind."""
    heavy = (set(catalog.family) | catalog.dependents) - {"torch", "torchvision", "torchaudio"}
    names = [name for text in request.others if (name := _name(text)) in heavy]
    return tuple(reason("dependent-unknown", name=name) for name in dict.fromkeys(names))


def _is_unknown(wish: Wish, backend: str, catalog: Catalog) -> bool:
    if wish.name not in catalog.dependents:
        return False
    known = catalog.dependent_versions(wish.name)
    return backend != "cuda" or not any(admits(wish.specifier, version, pre=True) for version in known)


def _name(text: str) -> str:
    from torchinstall.resolve.wishes import normal

    head = text.strip()
    for number, letter in enumerate(head):
        if not (letter.isalnum() or letter in "._-"):
            head = head[:number]
            break
    return normal(head) if head else ""
