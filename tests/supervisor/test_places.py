import os
import subprocess
from pathlib import Path

import pytest

from kg.commands import Place
from supervisor.places import first_commit, resolve


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def storage(home: Path) -> Path:
    folder = home / ".local/share/kg"
    folder.mkdir(parents=True)
    return folder


def git(folder: Path, *words: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *settings, *words],
        cwd=folder,
        env=kept | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def repository(folder: Path, text: str = "one") -> Path:
    made(folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", text)
    return folder


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def place_of(home, storage):
    def place(cwd: Path | str, project_root: str | None = None, **options) -> Place:
        return resolve(str(cwd), project_root=project_root, home=home, storage_root=storage, **options)

    return place


@pytest.fixture
def root_of(place_of):
    def root(cwd: Path | str, project_root: str | None = None, **options) -> Path | None:
        place = place_of(cwd, project_root, **options)
        assert place.note is None
        return None if place.root is None else Path(place.root)

    return root


def test_a_plain_folder_is_its_own_root(root_of, home):
    assert root_of(made(home / "notes/deep")) == home / "notes/deep"


def test_the_git_top_level_is_the_root_of_all_its_folders(root_of, home):
    top = repository(home / "app")
    assert root_of(top) == top
    assert root_of(made(top / "src/deep")) == top
    assert root_of(top / ".git") == top


def test_a_kgroot_file_comes_before_git_and_the_nearest_counts(root_of, home):
    top = repository(home / "mono")
    part = made(top / "parts/one")
    (part / ".kgroot").touch()
    assert root_of(made(part / "src")) == part
    assert root_of(made(top / "parts/two")) == top
    (home / "mono/.kgroot").touch()
    assert root_of(part) == part
    assert root_of(top / "parts/two") == top


def test_a_kgroot_above_a_repository_takes_it_in(root_of, home):
    (made(home / "all") / ".kgroot").touch()
    assert root_of(repository(home / "all/app")) == home / "all"


def test_a_kgroot_folder_marks_nothing(root_of, home):
    made(home / "app/.kgroot")
    assert root_of(made(home / "app/src")) == home / "app/src"


def test_the_clients_variable_comes_before_everything(root_of, home):
    top = repository(home / "app")
    (top / ".kgroot").touch()
    other = made(home / "other")
    assert root_of(top, str(other)) == other
    assert root_of("/not/there", str(other)) == other
    assert root_of("", "~/other") == other
    assert root_of(top, "") == top


@pytest.mark.parametrize("wrong", ["relative/path", "/not/there", "/dev/null", "~/gone", "\0", "/a\0b"])
def test_a_variable_that_leads_nowhere_is_noted_and_the_folder_decides(place_of, home, wrong):
    top = repository(home / "app")
    place = place_of(top, wrong)
    assert place.root == str(top)
    assert place.note.startswith("KG_PROJECT_ROOT is not used: ")


def test_a_repository_in_home_or_in_the_root_folder_swallows_nothing(root_of, home):
    repository(home)
    (home / ".kgroot").touch()
    assert root_of(made(home / "notes")) == home / "notes"
    assert root_of(home) is None


def test_home_the_root_folder_and_the_storage_are_no_projects(root_of, home, storage):
    repository(storage)
    assert root_of(home) is None
    assert root_of("/") is None
    assert root_of(storage) is None
    assert root_of(made(storage / "projects/app")) is None
    assert root_of(home, str(home)) is None
    assert root_of(home / "x", str(storage)) is None


def test_links_lead_to_the_same_root(root_of, home, tmp_path):
    top = repository(home / "app")
    made(top / "src")
    (tmp_path / "link").symlink_to(top / "src")
    assert root_of(tmp_path / "link") == top
    assert root_of(home, str(tmp_path / "link")) == top / "src"


def test_a_home_behind_a_link_is_still_home(home, storage, tmp_path):
    (tmp_path / "link").symlink_to(home)
    for cwd in (home, tmp_path / "link"):
        place = resolve(
            str(cwd), project_root=None, home=tmp_path / "link", storage_root=tmp_path / "link/.local/share/kg"
        )
        assert place == Place(None)


def test_a_folder_that_moved_with_a_link_left_behind_is_found_at_its_new_place(root_of, home):
    made(home / "old").rename(home / "new")
    (home / "old").symlink_to("new")
    assert root_of(home / "old") == home / "new"


# --- git -------------------------------------------------------------------------------------------------------------


def test_worktrees_beside_and_inside_belong_to_the_main_checkout(root_of, home):
    top = repository(home / "app")
    for folder in (home / "beside", top / "inside"):
        git(top, "worktree", "add", "-q", str(folder), "-b", folder.name)
        assert root_of(folder) == top
        assert root_of(made(folder / "src")) == top


def test_a_worktree_that_git_has_forgotten_still_belongs_to_its_main_checkout(root_of, home):
    top = repository(home / "app")
    git(top, "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    link = (home / "beside/.git").read_text(encoding="utf-8")
    git(top, "worktree", "remove", str(home / "beside"))
    (made(home / "beside") / ".git").write_text(link, encoding="utf-8")
    assert root_of(home / "beside") == top


def test_a_worktree_whose_main_checkout_is_gone_is_its_own_root(root_of, home):
    top = repository(home / "app")
    git(top, "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    top.rename(home / "elsewhere")
    assert root_of(home / "beside") == home / "beside"


def test_a_worktree_of_a_dotfiles_repository_in_home_is_its_own_root(root_of, home):
    repository(home)
    git(home, "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    assert root_of(home / "beside") == home / "beside"


@pytest.mark.parametrize("bare", ["app.git", "app/.bare", "app/.git"])
def test_each_worktree_of_a_bare_repository_is_its_own_root(root_of, home, bare):
    repository(home / "source")
    made((home / bare).parent)
    git(home, "clone", "-q", "--bare", str(home / "source"), str(home / bare))
    for name in ("one", "two"):
        git(home / bare, "worktree", "add", "-q", str(home / "app" / name), "-b", name)
        assert root_of(made(home / "app" / name / "src")) == home / "app" / name


def test_bareness_is_also_found_in_the_worktree_settings(root_of, home):
    top = repository(home / "app")
    git(top, "config", "extensions.worktreeConfig", "true")
    git(top, "config", "--worktree", "core.bare", "true")
    git(top, "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    assert root_of(home / "beside") == home / "beside"


@pytest.fixture
def super_project(home) -> Path:
    repository(home / "library", "library")
    top = repository(home / "super", "super")
    git(top, "submodule", "add", "-q", str(home / "library"), "worktrees/lib")
    git(top, "commit", "-q", "-m", "with library")
    return top


def test_a_submodule_is_its_own_root(root_of, super_project):
    assert root_of(made(super_project / "worktrees/lib/src")) == super_project / "worktrees/lib"


def test_a_submodule_in_a_worktree_is_its_own_root(root_of, super_project, home):
    git(super_project, "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    git(home / "beside", "submodule", "--quiet", "update", "--init")
    assert root_of(home / "beside/worktrees/lib") == home / "beside/worktrees/lib"


def test_a_worktree_of_a_submodule_belongs_to_the_submodule(root_of, super_project, home):
    git(super_project / "worktrees/lib", "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    assert root_of(home / "beside") == super_project / "worktrees/lib"


def test_a_repository_with_its_git_folder_elsewhere_is_its_own_root(root_of, home):
    made(home / "app")
    git(home / "app", "init", "-q", "--separate-git-dir", str(home / "store"))
    assert root_of(home / "app") == home / "app"


@pytest.mark.parametrize("content", ["", "rubbish", "gitdir:", "gitdir: /a\0b", "gitdir: ../nowhere", "\udcff"])
def test_a_git_file_that_leads_nowhere_marks_its_own_folder(root_of, home, content):
    (made(home / "app") / ".git").write_text(content, encoding="utf-8", errors="surrogateescape")
    assert root_of(made(home / "app/src")) == home / "app"


# --- Codex, limits ---------------------------------------------------------------------------------------------------


def test_a_folder_that_codex_made_for_one_conversation_is_no_project_until_it_has_a_graph(root_of, home):
    chat = made(home / "Documents/Codex/2026-03-02/make-a-plan")
    assert root_of(chat) is None
    assert root_of(made(chat / "src")) is None
    assert root_of(chat, known=[str(chat)]) == chat
    repository(chat)
    assert root_of(chat) is None
    assert root_of(chat / "src", known={str(chat)}) == chat


def test_a_clone_or_a_kgroot_file_in_such_a_folder_is_a_project(root_of, home):
    chat = made(home / "Documents/Codex/2026-03-02/make-a-plan")
    assert root_of(repository(chat / "clone")) == chat / "clone"
    (chat / ".kgroot").touch()
    assert root_of(chat) == chat


@pytest.mark.parametrize(
    "name", ["Documents/Codex/notes/plan", "Documents/Code/2026-03-02/plan", "Codex/2026-03-02/plan"]
)
def test_folders_of_a_similar_shape_are_projects(root_of, home, name):
    assert root_of(made(home / name)) == home / name


def test_projects_may_be_limited_to_some_folders(place_of, root_of, home, tmp_path):
    made(home / "work/app")
    (tmp_path / "link").symlink_to(home / "work")
    assert root_of(home / "work/app", inside=[home / "none", tmp_path / "link"]) == home / "work/app"
    place = place_of(made(home / "workshop"), inside=[home / "work"])
    assert place.root is None
    assert "projects.inside" in place.note
    assert place_of(home, str(home / "workshop"), inside=[home / "work"]).root is None


@pytest.mark.parametrize("name", ["-dash", ".dot", "a b", "ünï", "'quoted'", "new\nline", "$(x)"])
def test_roots_may_have_any_name_and_lie_anywhere(root_of, tmp_path, name):
    assert root_of(made(tmp_path / "srv" / name)) == tmp_path / "srv" / name


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cwd", "words"),
    [
        ("", "was not given"),
        ("app", "relative"),
        ("./app", "relative"),
        ("~/app", "relative"),
        ("/not/there", "does not exist"),
        ("/dev/null/below", "does not exist"),
        ("/dev/null", "is not a folder"),
        ("/a\0b", "cannot use"),
        ("/\ud800", "cannot use"),
        ("/" + "x" * 5_000, "cannot use"),
        ("C:\\Users\\ada", "relative"),
    ],
)
def test_a_folder_that_cannot_be_used_is_no_project_and_noted_in_one_short_line(place_of, cwd, words):
    place = place_of(cwd)
    assert place.root is None
    assert words in place.note
    assert len(place.note) < 400
    assert place.note.isprintable()


def test_a_folder_whose_name_no_reply_could_carry_is_not_used(place_of, home):
    raw = os.fsencode(home) + b"/\xff"
    os.mkdir(raw)  # noqa: PTH102 - pathlib knows no byte paths
    (home / "link").symlink_to(os.fsdecode(raw))
    assert "cannot use" in place_of(home / "link").note


def test_a_loop_of_links_is_noted(place_of, home):
    (home / "loop").symlink_to("loop")
    place = place_of(home / "loop")
    assert place.root is None
    assert place.note


# --- the first commit ------------------------------------------------------------------------------------------------


def test_the_first_commit_is_the_smallest_without_parents(home):
    top = repository(home / "app")
    git(top, "commit", "-q", "--allow-empty", "-m", "two")
    git(top, "checkout", "-q", "--orphan", "other")
    git(top, "commit", "-q", "--allow-empty", "-m", "another beginning")
    git(top, "merge", "-q", "--allow-unrelated-histories", "-m", "both", "main")
    roots = git(top, "rev-list", "--max-parents=0", "HEAD").split()
    assert len(roots) == 2
    assert first_commit(top) == min(roots)


def test_a_moved_repository_keeps_its_first_commit_and_so_do_worktrees(home):
    top = repository(home / "app")
    git(top, "worktree", "add", "-q", str(home / "beside"), "-b", "side")
    first = first_commit(top)
    assert first is not None
    assert first_commit(home / "beside") == first
    assert first_commit(top.rename(home / "moved")) == first


def test_a_folder_inside_a_repository_has_no_first_commit(home):
    top = repository(home / "app")
    assert first_commit(made(top / "part")) is None
    made(top / "broken/.git")
    assert first_commit(top / "broken") is None


def test_without_commits_a_repository_or_a_folder_there_is_none(home):
    made(home / "empty")
    git(home / "empty", "init", "-q")
    assert first_commit(home / "empty") is None
    assert first_commit(made(home / "plain")) is None
    assert first_commit(home / "gone") is None
    assert first_commit(Path("/a\0b")) is None


def test_the_variables_of_a_git_that_started_the_service_lead_nowhere_else(home, monkeypatch):
    one, two = repository(home / "one", "one"), repository(home / "two", "two")
    monkeypatch.setenv("GIT_DIR", str(two / ".git"))
    assert first_commit(one) != first_commit(two)


def test_without_git_there_is_none(home, monkeypatch):
    top = repository(home / "app")
    monkeypatch.setenv("PATH", str(home))
    assert first_commit(top) is None


def test_a_git_that_hangs_is_ended(home, monkeypatch):
    top = repository(home / "app")
    slow = home / "git"
    slow.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    slow.chmod(0o700)
    monkeypatch.setenv("PATH", f"{home}:{os.environ['PATH']}")
    monkeypatch.setattr("kg.limits.FIRST_COMMIT_S", 0.2)
    assert first_commit(top) is None
