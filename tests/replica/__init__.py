"""A replica of the PyTorch index on the loopback, and stub wheels to publish on it.

with Replica() as replica:
    publish(replica, [("2.15.0", "cu132", ("cp311", "cp312"), ("manylinux_2_28_x86_64",))])
    replica.url("cu132")    # http://127.0.0.1:PORT/whl/cu132
    replica.requests        # what was asked, in order
"""

from __future__ import annotations

from replica.faults import Fault
from replica.publish import publish
from replica.server import Asked, Replica
from replica.stubs import ARCHES, Behaviour, Card
from replica.wheels import StubWheel, install

__all__ = ["ARCHES", "Asked", "Behaviour", "Card", "Fault", "Replica", "StubWheel", "install", "publish"]
