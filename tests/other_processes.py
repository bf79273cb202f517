"""Fresh interpreters that are interrupted, and forks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import palmette

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process")
needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods() or sys.platform == "darwin", reason="no safe fork here"
)
# Python 3.12 warns of a fork in a process with threads; that it works is what these tests claim.
may_fork = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

_HANGS = 300.0  # seconds; a busy machine is not that slow


def run(script, **options):
    """A fresh Python that sees the same package."""
    source = str(Path(palmette.__file__).parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def answer_to_an_interrupt(script, title):
    """The line that a script prints when it is interrupted at work; then it ends well."""
    return answers_to_interrupts(script, [title])[0]


def answers_to_interrupts(script, titles):
    """The same for a script that is interrupted at one work after another."""
    child = run(script)
    watch = threading.Timer(_HANGS, child.kill)
    watch.start()
    try:
        found = []
        for title in titles:
            bar = ""
            while title not in bar:  # the bar shows that the work is under way
                piece = child.stderr.read(1)
                assert piece, f"the child ended early: {bar}"
                bar += piece
            child.send_signal(signal.SIGINT)
            found.append(child.stdout.readline())
        child.communicate(timeout=_HANGS)
        assert child.returncode == 0
        return found
    finally:
        watch.cancel()
        child.kill()
        child.communicate()


def in_a_fork(compute):
    """What a child that is forked now computes."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=lambda: sender.send(compute()))
    child.start()
    try:
        assert receiver.poll(60), "the child does not answer"
        return receiver.recv()
    finally:
        child.join(5)
        if child.is_alive():
            child.kill()
            child.join()
