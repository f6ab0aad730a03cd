# SPDX-License-Identifier: Apache-2.0
"""Long calls that Ctrl-C can end and during which signal handlers run."""
from __future__ import annotations

import ctypes
import json
import queue
import threading
from typing import Any, Callable, Optional

from vpd import _library as c

LINE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
WAIT = 0.1 # seconds between checks whether the other thread has ended


class _Call:
    """Runs one call of the library in another thread, while the main thread waits for it.

    Python runs signal handlers only in the main thread, and not while that thread is in a library. Therefore the library is called
    from another thread. If a handler raises an exception, as Ctrl-C does, the library is asked to stop; then the exception is raised."""

    def __init__(self, function: str, arguments: tuple, hear: Optional[Callable[[str], Any]]) -> None:
        self._function = function
        self._arguments = arguments
        self._hear = hear
        self._events: "queue.SimpleQueue[Optional[str]]" = queue.SimpleQueue() # lines of the log, then None
        self._answers: "queue.SimpleQueue[bool]" = queue.SimpleQueue()
        self._error: Optional[BaseException] = None # raised by the library
        self._raised: Optional[BaseException] = None  # by a signal handler or by `hear`
        self._begun = threading.Event()
        self._done = threading.Event()

    def _work(self) -> None:
        self._begun.set()
        try:
            c.call(self._function, *self._arguments)
        except BaseException as error: # raised again in the waiting thread
            self._error = error
        self._done.set()
        self._events.put(None)

    def tell(self, text: str) -> bool:
        """Called in the library's thread: whether the run should end after this line."""
        self._events.put(text)
        while self._raised is None:
            try:
                return self._answers.get(timeout=WAIT)
            except queue.Empty:
                pass
        return True

    def _answer(self, text: str) -> None:
        self._answers.put(bool(self._hear(text)))

    def _serve(self) -> None:
        """Waits for the end, and passes the lines to `hear`."""
        while not self._done.is_set():
            if self._raised is not None:
                c.stop() # again, because it has no effect before the library has begun
            try:
                text = self._events.get(timeout=WAIT)
            except queue.Empty:
                continue
            if text is None:
                return
            if self._raised is None:
                self._answer(text)

    def _start(self) -> bool:
        try:
            threading.Thread(target=self._work, name="vpd", daemon=True).start()
        except BaseException as error: # from a handler; the thread may have begun
            self._raised = error
            return self._begun.wait(1)
        return True

    def run(self) -> None:
        running = self._start()
        while running and not self._done.is_set():
            try:
                self._serve()
            except BaseException as error: # handlers may raise anything at any place above
                self._raised = self._raised or error
        if self._raised is not None:
            raise self._raised
        if self._error is not None:
            raise self._error


class _Direct:
    """The same from a thread other than the main one, where handlers never run."""

    def __init__(self, function: str, arguments: tuple, hear: Optional[Callable[[str], Any]]) -> None:
        self._function = function
        self._arguments = arguments
        self._hear = hear
        self._raised: Optional[BaseException] = None

    def tell(self, text: str) -> bool:
        try:
            return bool(self._hear(text))
        except BaseException as error:
            self._raised = error
            return True

    def run(self) -> None:
        try:
            c.call(self._function, *self._arguments)
        finally:
            if self._raised is not None:
                raise self._raised


def _make(function: str, arguments: tuple, hear: Optional[Callable[[str], Any]] = None):
    in_main = threading.current_thread() is threading.main_thread()
    return (_Call if in_main else _Direct)(function, arguments, hear)


def call_long(function: str, *arguments) -> None:
    """Like _library.call, but Ctrl-C ends it early and raises KeyboardInterrupt."""
    _make(function, arguments).run()


def call_report(function: str, *arguments) -> dict:
    """Calls a function whose last argument returns a report in JSON; returns the report as a dict."""
    text = ctypes.c_void_p()
    try:
        call_long(function, *arguments, ctypes.byref(text))
        return json.loads(ctypes.string_at(text))
    finally:
        c.free_text(text)


def call_train(options: c.TrainOptions, hear: Optional[Callable[[dict], Any]]) -> dict:
    """vpd_train. `hear` gets each line of the log in the thread that calls this; if it returns something true, the run ends."""
    text = ctypes.c_void_p()
    call = _make("vpd_train", (ctypes.byref(options), ctypes.byref(text)), hear and (lambda line: hear(json.loads(line))))
    line = LINE(lambda _, json_text: call.tell(json_text.decode()))
    if hear is not None:
        options.line = ctypes.cast(line, ctypes.c_void_p)
    try:
        call.run()
        return json.loads(ctypes.string_at(text))
    finally:
        c.free_text(text)
