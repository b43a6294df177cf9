"""Ask the indexes of a plan before anything changes: an unreachable one is known in seconds, not after retries."""

from __future__ import annotations

from torchinstall.errors import IndexUnreachableError
from torchinstall.index.location import local_path, redact
from torchinstall.index.look import Question, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from torchinstall.index.http import Client
    from torchinstall.install.backend import Job


def check_sources(job: Job, default_url: str | None, session: Client) -> bool:
    """Tell whether the default index answers; raise ``IndexUnreachableError`` where one of the pins' doesn't.

    Offline nothing is asked, and an index that was seen in this run isn't asked again. The default index is
    only told about, since what the plan needs of it may be in the installer's cache.
    """
    if job.offline or job.settings.offline or session.offline:
        return True
    known = {"default", *job.plan.catalog.confirmed}
    needed = {
        Question(url=pin.index, project=pin.name, kind=pin.kind)
        for pin in job.plan.packages
        if pin.index not in known and pin.kind != "url" and local_path(pin.index) is None
    }
    first = job.plan.packages[0].name if job.plan.packages else "pip"
    url = default_url or job.settings.default_index
    general = [Question(url=url, project=first)] if url and local_path(url) is None else []
    questions = sorted(needed, key=lambda question: (question.url, question.project))
    listings = look([*questions, *general], session=session)
    for listing in listings[: len(questions)]:
        if listing.state == "unreachable":
            raise IndexUnreachableError(
                f"{redact(listing.url)} can't be reached",
                why=listing.error,
                todo=[
                    "try again, or look at the network and the proxy (HTTPS_PROXY)",
                    "--mirror takes the torch family from another server",
                ],
            )
    return not any(listing.state == "unreachable" for listing in listings[len(questions) :])
