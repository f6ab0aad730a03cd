# SPDX-License-Identifier: Apache-2.0
"""Calls that may take long, so that Ctrl-C ends them and signal handlers run while they last."""
from __future__ import annotations

import ctypes
import json
import queue
import threading
from typing import Any, Callable, Optional

from vpd import _library as c

LINE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
WAIT = 0.1  # seconds between two looks at whether the other thread is still there


class _Call:
    """One call of the library in a thread of its own, while the main thread waits for it.

    Python runs signal handlers in the main thread alone, and not while that thread is in a library. So the library is called from
    another thread. When a handler raises, as Ctrl-C does, the library is told to stop, and the exception goes on once it has."""

    def __init__(self, function: str, arguments: tuple, hear: Optional[Callable[[str], Any]]) -> None:
        self._function = function
        self._arguments = arguments
        self._hear = hear
        self._events: "queue.SimpleQueue[Optional[str]]" = queue.SimpleQueue()  # lines, and None at the end
        self._answers: "queue.SimpleQueue[bool]" = queue.SimpleQueue()
        self._error: Optional[BaseException] = None  # of the library
        self._raised: Optional[BaseException] = None  # by a signal handler or by `hear`
        self._begun = threading.Event()
        self._done = threading.Event()

    def _work(self) -> None:
        self._begun.set()
        try:
            c.call(self._function, *self._arguments)
        except BaseException as error:  # raised again in the thread that waits
            self._error = error
        self._done.set()
        self._events.put(None)

    def tell(self, text: str) -> bool:
        """In the library's thread: whether the run is to end after this line."""
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
        """Waits for the end, and lets `hear` have the lines."""
        while not self._done.is_set():
            if self._raised is not None:
                c.stop()  # again, since it does nothing before the library has begun
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
        except BaseException as error:  # of a handler; the thread may have begun
            self._raised = error
            return self._begun.wait(1)
        return True

    def run(self) -> None:
        running = self._start()
        while running and not self._done.is_set():
            try:
                self._serve()
            except BaseException as error:  # a handler may raise anything, anywhere above
                self._raised = self._raised or error
        if self._raised is not None:
            raise self._raised
        if self._error is not None:
            raise self._error


class _Direct:
    """The same from a thread that is not the main one: handlers never run there."""

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
    """As _library.call. Ctrl-C ends it early and raises KeyboardInterrupt."""
    _make(function, arguments).run()


def call_report(function: str, *arguments) -> dict:
    """Of a function whose last argument is a report in JSON: that report as a dict."""
    text = ctypes.c_void_p()
    try:
        call_long(function, *arguments, ctypes.byref(text))
        return json.loads(ctypes.string_at(text))
    finally:
        c.free_text(text)


def call_train(options: c.TrainOptions, hear: Optional[Callable[[dict], Any]]) -> dict:
    """vpd_train. `hear` gets each line of the log in the thread that calls this; when it returns something true the run ends."""
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
