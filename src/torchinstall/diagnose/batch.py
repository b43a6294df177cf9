"""Reports by the hundred: JSON lines with ``id``, ``machine``, ``request``, ``error``, each answered in its place."""

from __future__ import annotations

import json

from torchinstall.diagnose.doctor import diagnose
from torchinstall.errors import MachineFileError, TorchInstallError
from torchinstall.model.machine_json import machine_from_json
from torchinstall.resolve.asked import loads, with_asked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torchinstall.catalog.catalog import Catalog
    from torchinstall.model.finding import Diagnosis
    from torchinstall.model.machine import Machine
    from torchinstall.model.request import Request

_MEMO = 2000


def diagnoses(
    lines: Iterable[str], general: Request, catalog: Catalog, complete: Callable[[Machine], Machine]
) -> Iterator[tuple[object, Diagnosis | TorchInstallError]]:
    """Answer JSON lines one after the other; a bad line gets its error in its place, and the rest goes on.

    A line is a machine, or an object with ``machine`` and an ``error`` text. ``complete`` fills what a machine
    leaves to the running one.
    """
    memo: dict[str, Diagnosis] = {}
    for line in lines:
        if not line.strip():
            continue
        identity: object = None
        try:
            document = loads(line)
            if not isinstance(document, dict):
                raise MachineFileError("the line isn't an object")
            identity = document.get("id")
            key = json.dumps({name: value for name, value in document.items() if name != "id"}, sort_keys=True)
            if key not in memo:
                if len(memo) >= _MEMO:
                    memo.clear()
                memo[key] = _answer(document, general, catalog, complete)
            yield identity, memo[key]
        except TorchInstallError as error:
            yield identity, error
        except (ValueError, RecursionError) as error:
            yield identity, MachineFileError(f"the line isn't JSON: {error}")


def _answer(
    document: dict[str, object], general: Request, catalog: Catalog, complete: Callable[[Machine], Machine]
) -> Diagnosis:
    inner = document.get("machine")
    if inner is None:
        inner = {name: value for name, value in document.items() if name not in {"id", "error", "request"}}
    text = document.get("error") or ""
    if not isinstance(text, str):
        raise MachineFileError("error isn't a string", todo=['put the text of the error under "error"'])
    machine = complete(machine_from_json(inner))
    request = with_asked(general, document.get("request") or {}, machine, catalog)
    return diagnose(machine, request, catalog, text=text)
