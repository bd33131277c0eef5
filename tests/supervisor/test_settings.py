from kg import limits
from supervisor.settings import Settings, load_settings


def settings(tmp_path, text: str | None = None, **environment: str) -> Settings:
    if text is not None:
        (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    return load_settings(tmp_path, environment)


def test_without_a_file_and_variables_the_defaults_hold(tmp_path):
    assert settings(tmp_path) == Settings()


def test_the_file_counts_and_the_environment_wins_over_it(tmp_path):
    found = settings(tmp_path, "[server]\nport = 9000\nworkers = 2\n", KG_PORT="9001")
    assert (found.port, found.workers, found.problems) == (9001, 2, ())


def test_port_off_means_no_tcp(tmp_path):
    assert settings(tmp_path, KG_PORT="off").port is None


def test_an_unknown_key_is_named_and_the_rest_still_counts(tmp_path):
    found = settings(tmp_path, "[server]\nport = 9000\nprot = 1\n[storge]\nx = 1\n")
    assert found.port == 9000
    assert sorted(found.problems) == [
        "config.toml: server.prot is no setting of kg",
        "config.toml: storge.x is no setting of kg",
    ]


def test_a_value_of_the_wrong_type_or_range_falls_back_to_its_default(tmp_path):
    found = settings(
        tmp_path,
        '[server]\nport = "http"\nhost = "0.0.0.0"\n[storage]\nsave_interval_s = -1\n[projects]\ninside = "x"\n',
        KG_WORKERS="none", KG_LOG_LEVEL="loud", KG_ORPHAN_GRACE_DAYS="soon",
    )  # fmt: skip
    assert (found.port, found.host, found.save_interval_s) == (limits.PORT, "127.0.0.1", limits.SAVE_INTERVAL_S)
    assert (found.workers, found.log_level, found.inside) == (1, "info", ())
    assert found.orphan_grace_days == limits.ORPHAN_GRACE_DAYS
    assert len(found.problems) == 7


def test_a_bad_variable_leaves_the_files_value(tmp_path):
    found = settings(tmp_path, "[server]\nport = 9000\n", KG_PORT="99999")
    assert found.port == 9000
    assert "KG_PORT" in found.problems[0]


def test_a_file_that_does_not_parse_is_a_problem_with_its_line(tmp_path):
    (problem,) = settings(tmp_path, "[server\n").problems
    assert "config.toml" in problem
    assert "line 1" in problem


def test_an_unreadable_file_is_a_problem(tmp_path):
    (tmp_path / "config.toml").mkdir()
    assert "config.toml" in settings(tmp_path).problems[0]
