"""Pages over HTTP, within seconds: short time limits, few retries, bounded bodies, one session a run.

``requests`` is imported when the first page is asked for, since its import
costs more than a whole offline plan.
"""

from __future__ import annotations

import re
import threading
import time

from torchinstall._version import __version__
from torchinstall.index.location import host_of, redact
from torchinstall.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    import requests

    from torchinstall.index.cache import Kept, PageCache

CONNECT_S = 2.0
READ_S = 3.0
MAX_BYTES = 20_000_000
MAX_REDIRECTS = 5
RETRIES = 2
PAUSE_S = 0.2

OK = "ok"
ABSENT = "absent"
FAILED = "failed"

_POOL = re.compile(r"^\w+\(host=[^)]*\): ")
_GONE = {403, 404, 410}  # several wheel indexes answer 403 for a project that they don't have
_OK_STATUS = 200
_UNCHANGED = 304
_AGAIN = {429, 500, 502, 503, 504}
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1, */*;q=0.01"


def load() -> None:
    """Load ``requests`` before it is needed, where there is time for it: while a probe waits for another process."""
    import contextlib

    with contextlib.suppress(ImportError):  # whoever needs it says what is wrong with it
        import requests  # noqa: F401


class Page(Value):
    """One answer. ``state``: ok, absent (403, 404, 410) or failed (``error`` says why, without credentials).

    ``url`` is where the page was found after redirects.
    """

    url: str
    state: str
    text: str = ""
    content_type: str = ""
    error: str = ""


class Client:
    """The HTTP side of one run: its session, and the hosts that were found unreachable.

    Proxies, netrc and certificates as ``requests`` takes them from the environment;
    ``SSL_CERT_FILE`` or ``cert`` (a PEM bundle) where ``requests`` has none. With ``offline`` nothing
    is asked. ``cache`` keeps pages for later runs; the server is asked each time whether they have changed.
    ``requests`` and ``received`` (bytes, as announced) count what was answered.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        cert: str | None = None,
        offline: bool = False,
        cache: PageCache | None = None,
    ) -> None:
        self.offline = offline
        self.cache = cache
        self.requests = 0
        self.received = 0
        self.down: dict[str, str] = {}
        self._cert = cert or (environ or {}).get("SSL_CERT_FILE") or None
        self._session: requests.Session | None = None
        self._lock = threading.Lock()

    def session(self) -> requests.Session:
        """Return the session, made on first use."""
        with self._lock:
            if self._session is None:
                self._session = _new_session(self._cert)
            return self._session

    def close(self) -> None:
        """Close the connections that are kept open."""
        with self._lock:
            if self._session is not None:
                self._session.close()
                self._session = None

    def fetch(self, url: str, *, limit_s: float = 3.0) -> Page:
        """Read one page within about ``limit_s`` seconds; never raises for what the other side does."""
        host = host_of(url)
        if self.offline:
            return Page(url=url, state=FAILED, error="not asked: offline")
        if host in self.down:
            return Page(url=url, state=FAILED, error=self.down[host])
        deadline = time.monotonic() + limit_s
        for attempt in range(RETRIES + 1):
            page, again = self._once(url, deadline)
            pause = PAUSE_S * (1 + 2 * attempt)
            if not again or attempt == RETRIES or time.monotonic() + pause >= deadline:
                return page
            time.sleep(pause)
        raise AssertionError  # the loop always returns

    def _once(self, url: str, deadline: float) -> tuple[Page, bool]:
        """Ask once; the second part tells whether asking again may help."""
        import requests

        left = max(0.1, deadline - time.monotonic())
        kept = self.cache.get(url) if self.cache is not None else None
        headers = {"Accept": _ACCEPT, **(kept.conditions if kept is not None else {})}
        try:
            limits = (min(CONNECT_S, left), min(READ_S, left))
            response = self.session().get(url, timeout=limits, stream=True, headers=headers)
            self._count(response)
            with response:
                return _read(url, response, deadline, kept, self.cache)
        except requests.exceptions.TooManyRedirects:
            return Page(url=url, state=FAILED, error=f"more than {MAX_REDIRECTS} redirects"), False
        except requests.exceptions.ConnectTimeout:
            return self._down(url, f"no connection within {CONNECT_S:g} s"), False
        except requests.exceptions.ReadTimeout:
            return self._down(url, f"no answer within {READ_S:g} s"), False
        except requests.exceptions.SSLError as error:
            return self._down(url, f"certificate not accepted: {_cause(error)}"), False
        except requests.exceptions.ConnectionError as error:
            if _was_reset(error):
                return Page(url=url, state=FAILED, error="the connection was cut off"), True
            return self._down(url, _cause(error)), False
        except (requests.exceptions.RequestException, OSError, ValueError) as error:
            # ValueError: urllib3 lets some malformed URLs of a redirect through.
            return Page(url=url, state=FAILED, error=_cause(error)), False

    def _count(self, response: requests.Response) -> None:
        length = response.headers.get("Content-Length", "")
        with self._lock:
            self.requests += 1 + len(response.history)
            self.received += int(length) if length.isdigit() and response.status_code == _OK_STATUS else 0

    def _down(self, url: str, error: str) -> Page:
        self.down.setdefault(host_of(url), error)
        return Page(url=url, state=FAILED, error=error)


def _new_session(cert: str | None) -> requests.Session:
    import requests
    from requests.adapters import HTTPAdapter

    session = requests.Session()
    session.headers["User-Agent"] = f"torchinstall/{__version__}"
    session.max_redirects = MAX_REDIRECTS
    if cert:
        session.verify = cert
    for scheme in ("http://", "https://"):
        session.mount(scheme, HTTPAdapter(max_retries=0, pool_connections=8, pool_maxsize=16))
    return session


def _read(
    url: str, response: requests.Response, deadline: float, kept: Kept | None, cache: PageCache | None
) -> tuple[Page, bool]:
    status = response.status_code
    if status in _GONE:
        next(response.iter_content(65536), b"")  # a connection whose answer was read can be used again
        return Page(url=url, state=ABSENT), False
    if status == _UNCHANGED and kept is not None:
        text = kept.body.decode("utf-8", "replace")
        return Page(url=kept.url, state=OK, text=text, content_type=kept.content_type), False
    if status != _OK_STATUS:
        error = f"HTTP {status} {response.reason or ''}".rstrip()
        return Page(url=url, state=FAILED, error=error), status in _AGAIN
    body = bytearray()
    for chunk in response.iter_content(65536):
        body += chunk
        if len(body) > MAX_BYTES:
            error = f"the page is larger than {MAX_BYTES // 1_000_000} MB"
            return Page(url=url, state=FAILED, error=error), False
        if time.monotonic() > deadline:
            return Page(url=url, state=FAILED, error="the page came too slowly"), False
    content_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if cache is not None:
        from torchinstall.index.cache import kept_page

        if (keep := kept_page(url, response.url, bytes(body), content_type, response.headers)) is not None:
            cache.put(url, keep)
    return Page(url=response.url, state=OK, text=body.decode("utf-8", "replace"), content_type=content_type), False


def _was_reset(error: BaseException) -> bool:
    seen: set[int] = set()
    stack: list[object] = [error]
    while stack:
        item = stack.pop()
        if id(item) in seen or not isinstance(item, BaseException):
            continue
        seen.add(id(item))
        if isinstance(item, (ConnectionResetError, BrokenPipeError)) or type(item).__name__ in {
            "RemoteDisconnected",
            "IncompleteRead",
        }:
            return True
        stack += [*item.args, item.__cause__, item.__context__]
    return False


def _cause(error: BaseException) -> str:
    """Return the innermost message: the outer ones repeat the pool and the whole URL."""
    inner: BaseException = error
    while True:
        parts = (*inner.args, getattr(inner, "reason", None))
        nested = [part for part in parts if isinstance(part, BaseException)]
        if not nested or nested[0] is inner:
            break
        inner = nested[0]
    text = str(inner)
    if isinstance(inner, OSError) and inner.strerror:
        text = inner.strerror
    text = _POOL.sub("", text.rpartition("Failed to establish a new connection: ")[2]) or type(inner).__name__
    return redact(" ".join(text.split()))[:200]
