"""The storage root rule and the two files below it."""

import os
import pwd
from pathlib import Path

import pytest

from shim.root import RootError, server_of, start_error_of, storage_root


def environ(home, **variables):
    return {b"HOME": os.fsencode(home)} | {k.encode(): os.fsencode(v) for k, v in variables.items()}


def test_the_variable_wins_and_its_tilde_is_expanded(tmp_path):
    assert storage_root(environ(tmp_path, KG_STORAGE="~/my mem/ü")) == f"{tmp_path}/my mem/ü"
    assert storage_root(environ(tmp_path, KG_STORAGE="/a//b/../c/")) == "/a/c"


def test_a_named_users_home_is_expanded():
    user = pwd.getpwuid(os.getuid())
    assert storage_root({b"KG_STORAGE": f"~{user.pw_name}/m".encode()}) == f"{user.pw_dir}/m"


def test_a_relative_variable_is_refused_with_the_absolute_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RootError, match=f"KG_STORAGE.*{tmp_path}/mem$"):
        storage_root(environ(tmp_path, KG_STORAGE="./x/../mem"))


def test_the_line_that_setup_wrote_comes_next(tmp_path):
    config = tmp_path / ".config/kg/root"
    config.parent.mkdir(parents=True)
    config.write_text("~/elsewhere\nrest\n", encoding="utf-8")
    assert storage_root(environ(tmp_path)) == f"{tmp_path}/elsewhere"
    config.write_text("elsewhere\n", encoding="utf-8")
    with pytest.raises(RootError, match="kg/root is the relative path"):
        storage_root(environ(tmp_path))
    other = tmp_path / "conf/kg/root"
    other.parent.mkdir(parents=True)
    other.write_text("/there", encoding="utf-8")
    assert storage_root(environ(tmp_path, XDG_CONFIG_HOME=tmp_path / "conf")) == "/there"


def test_the_default_is_the_data_folder(tmp_path):
    assert storage_root(environ(tmp_path)) == f"{tmp_path}/.local/share/kg"
    assert storage_root(environ(tmp_path, XDG_DATA_HOME="/data")) == "/data/kg"
    assert storage_root(environ(tmp_path, XDG_DATA_HOME="data", KG_STORAGE="")) == f"{tmp_path}/.local/share/kg"
    assert storage_root({}) == f"{Path(pwd.getpwuid(os.getuid()).pw_dir)}/.local/share/kg"


def test_the_files_below_run_are_read_or_count_as_none(tmp_path):
    root = str(tmp_path)
    assert (server_of(root), start_error_of(root)) == (None, None)
    (tmp_path / "run").mkdir()
    server = tmp_path / "run/server.json"
    server.write_text(
        '{"pid": 7, "started": 1.25, "version": "1", "socket": "/s", "port": null, "root": "/r", "format": 1}',
        encoding="utf-8",
    )
    found = server_of(root)
    assert (found.pid, found.started, found.socket, found.port, found.version) == (7, 1.25, "/s", None, "1")
    for broken in ('{"pid": 7', "[]", "", '{"pid": 1.5, "socket": "/s"}', '{"socket": 5}', "{}"):
        server.write_text(broken, encoding="utf-8")
        assert server_of(root) is None
    (tmp_path / "run/start-error.json").write_text('{"time": "x", "cause": "full", "log": "/l"}', encoding="utf-8")
    error = start_error_of(root)
    assert (error.cause, error.log) == ("full", "/l")
    assert error.age_s < 60
