"""A clock that only a test moves on."""

from __future__ import annotations

_READERS = ("budget", "sampling.annealed", "sampling.ladder", "sampling.run")


class Clock:
    """What is asked for the time everywhere where a budget counts."""

    def __init__(self, monkeypatch):
        self.time = 100.0
        for name in _READERS:
            monkeypatch.setattr(f"palmette.{name}.now", self)

    def __call__(self):
        return self.time

    def after(self, call, seconds):
        """The same function, which takes so many seconds."""

        def slow(*args, **named):
            self.time += seconds
            return call(*args, **named)

        return slow
