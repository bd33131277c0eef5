"""The lines of the log."""

import json
import logging
import re

import pytest

from kg import limits
from supervisor.log import LogSettings, install


@pytest.fixture
def lines():
    """Collect lines; the loggers are given back as they were."""
    root = logging.getLogger()
    before = root.handlers, root.level
    yield []
    root.handlers, level = before
    root.setLevel(level)


def test_a_line_has_time_level_logger_and_message(lines):
    install(LogSettings("info", lines.append))
    logging.getLogger("kg.store").info("loaded seq=%d", 7)
    assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info kg\.store loaded seq=7", lines[0])


def test_the_level_is_kept_and_talkative_libraries_are_quiet(lines):
    install(LogSettings("warning", lines.append))
    logging.getLogger("kg").info("not this")
    logging.getLogger("kg").error("this")
    install(LogSettings("debug", lines.append))
    logging.getLogger("apscheduler.scheduler").info("nor this")
    assert [line.split(b" ")[-1] for line in lines] == [b"this"]


def test_a_failure_is_one_line_with_its_traceback(lines):
    install(LogSettings("info", lines.append))
    try:
        int("two\nlines")
    except ValueError:
        logging.getLogger("kg").exception("it\nfailed")
    assert len(lines) == 1
    assert b"\n" not in lines[0]
    assert b"it | failed | Traceback" in lines[0]
    assert b"ValueError: invalid literal" in lines[0]


def test_a_line_as_json_keeps_every_script(lines):
    install(LogSettings("info", lines.append, as_json=True))
    logging.getLogger("kg").warning("größer ⏎ 記憶 %s", "\udc80")
    found = json.loads(lines[0])
    assert found["message"].startswith("größer ⏎ 記憶")
    assert (found["level"], found["logger"]) == ("warning", "kg")


def test_a_long_line_loses_its_middle(lines):
    install(LogSettings("info", lines.append))
    logging.getLogger("kg").info("begin%send", "x" * 50_000)
    assert len(lines[0]) < limits.LOG_VALUE_CHARS + 100
    assert b"begin" in lines[0]
    assert lines[0].endswith(b"end")


def test_a_wrong_call_and_a_full_disk_do_not_reach_the_caller(lines, capfdbinary):
    def full(_line):
        raise OSError(28, "No space left on device")

    install(LogSettings("info", full))
    logging.getLogger("kg").info("lost")
    install(LogSettings("info", lines.append))
    logging.getLogger("kg").info("%d", "no number")
    assert lines == []
    assert capfdbinary.readouterr().err.count(b"could not log") == 2
