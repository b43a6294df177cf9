"""What uv and pip are configured with, against the real pip's and uv's rules."""

from __future__ import annotations

import os

import pytest

from torchinstall.errors import UsageError
from torchinstall.install.config_files import pip_files, uv_files
from torchinstall.install.settings import read_settings


@pytest.fixture
def world(tmp_path):
    """A root with system files, a home, a current directory, and the variables for them."""

    class World:
        root = tmp_path / "root"
        home = tmp_path / "home"
        cwd = tmp_path / "cwd"
        prefix = tmp_path / "env"

        def write(self, path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return path

        def read(self, **more):
            return read_settings({"HOME": str(self.home), **more}, cwd=self.cwd, prefix=self.prefix, root=self.root)

    return World()


def test_nothing_configured(world):
    found = world.read()
    assert (found.default_index, found.extra_indexes, found.find_links, found.entries) == (None, (), (), ())
    assert not found.offline
    assert not found.no_index


def test_variables_of_pip_and_uv_with_their_origins(world):
    found = world.read(
        PIP_INDEX_URL="https://pip.example/simple",
        PIP_EXTRA_INDEX_URL="https://a.example/s https://b.example/s",
        PIP_FIND_LINKS="wheels https://c.example/links",
        PIP_CONSTRAINT="limits.txt",
        PIP_CERT="ca.pem",
        UV_DEFAULT_INDEX="corp=https://uv.example/simple",
        UV_INDEX="https://d.example/s",
        UV_FIND_LINKS="/w1,/w 2",
        UV_OFFLINE="1",
        UV_NO_INDEX="false",
    )
    assert found.default_index == "https://uv.example/simple"
    assert found.of("uv", "default-index")[0].label == "corp"
    assert found.extra_indexes == ("https://d.example/s", "https://a.example/s", "https://b.example/s")
    assert found.find_links == ("/w1", "/w 2", str(world.cwd / "wheels"), "https://c.example/links")
    assert found.constraint_files == (str(world.cwd / "limits.txt"),)
    assert found.cert == str(world.cwd / "ca.pem")
    assert found.offline
    assert not found.no_index
    assert found.origin("https://b.example/s") == "PIP_EXTRA_INDEX_URL"
    assert found.origin("/w1") == "UV_FIND_LINKS"
    assert found.origin("https://nobody.example") == ""


def test_pips_files_override_one_another(world):
    system = world.write(
        world.root / "etc" / "pip.conf", "[global]\nindex-url = https://system.example/s\nno-index = yes\n"
    )
    world.write(world.root / "etc" / "xdg" / "pip" / "pip.conf", "[global]\nindex-url = https://xdg.example/s\n")
    assert world.read().default_index == "https://system.example/s"
    world.write(world.home / ".pip" / "pip.conf", "[global]\nindex-url = https://legacy.example/s\n")
    assert world.read().default_index == "https://legacy.example/s"
    user = world.write(
        world.home / ".config" / "pip" / "pip.conf",
        "[global]\nindex-url = https://user.example/s\nextra-index-url =\n  https://one.example/s\n  https://two.example/s\n",
    )
    found = world.read()
    assert found.default_index == "https://user.example/s"
    assert found.extra_indexes == ("https://one.example/s", "https://two.example/s")
    assert found.origin("https://two.example/s") == str(user)
    assert found.no_index
    assert found.of("pip", "no-index")[0].origin == str(system)
    world.write(world.prefix / "pip.conf", "[install]\nindex_url = https://env.example/s\n")
    assert world.read().default_index == "https://env.example/s"
    assert world.read(PIP_INDEX_URL="https://variable.example/s").default_index == "https://variable.example/s"


def test_the_last_of_several_system_folders_wins_as_in_pip(world):
    dirs = [world.root / "one", world.root / "two"]
    for folder in dirs:
        world.write(folder / "pip" / "pip.conf", f"[global]\nindex-url = https://{folder.name}.example/s\n")
    assert world.read(XDG_CONFIG_DIRS=os.pathsep.join(map(str, dirs))).default_index == "https://two.example/s"


def test_the_install_section_wins_over_global_whatever_the_file(world):
    world.write(world.root / "etc" / "pip.conf", "[install]\nindex-url = https://install.example/s\n")
    world.write(world.prefix / "pip.conf", "[global]\nindex-url = https://global.example/s\n")
    assert world.read().default_index == "https://install.example/s"


def test_pip_config_file_replaces_the_users_and_the_null_device_all(world):
    world.write(world.root / "etc" / "pip.conf", "[global]\nfind-links = /system\n")
    world.write(world.home / ".config" / "pip" / "pip.conf", "[global]\nindex-url = https://user.example/s\n")
    named = world.write(world.cwd / "my.conf", "[global]\nextra-index-url = https://mine.example/s\n")
    found = world.read(PIP_CONFIG_FILE=str(named))
    assert (found.default_index, found.find_links) == (None, ("/system",))
    assert found.extra_indexes == ("https://mine.example/s",)
    assert world.read(PIP_CONFIG_FILE=os.devnull).entries == ()


def test_uvs_files(world):
    world.write(world.root / "etc" / "uv" / "uv.toml", 'index-url = "https://system.example/s"\noffline = true\n')
    user = world.write(
        world.home / ".config" / "uv" / "uv.toml",
        'find-links = ["wheels"]\n[[index]]\nname = "corp"\nurl = "https://corp.example/s"\ndefault = true\n'
        '[[index]]\nurl = "https://more.example/s"\n'
        '[[index]]\nname = "t"\nurl = "https://t.example/s"\nexplicit = true\n'
        '[pip]\nextra-index-url = ["https://pip.example/s"]\n',
    )
    found = world.read()
    assert found.default_index == "https://corp.example/s"
    assert set(found.extra_indexes) == {"https://more.example/s", "https://pip.example/s"}
    assert found.find_links == (str(user.parent / "wheels"),)
    assert found.offline
    assert found.origin("https://more.example/s") == str(user)
    assert world.read(UV_NO_CONFIG="1").entries == ()
    named = world.write(world.cwd / "other.toml", "no-index = true\n")
    assert world.read(UV_CONFIG_FILE=str(named)).no_index
    assert world.read(UV_CONFIG_FILE=str(named)).default_index is None


def test_the_current_directorys_own_files_arent_read(world):
    world.write(world.cwd / "uv.toml", 'index-url = "https://cwd.example/s"\n')
    world.write(world.cwd / "pyproject.toml", '[tool.uv]\nindex-url = "https://cwd.example/s"\n')
    world.write(world.cwd / "pip.conf", "[global]\nindex-url = https://cwd.example/s\n")
    assert world.read().entries == ()


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (".config/pip/pip.conf", "index-url = before any section\n"),
        (".config/uv/uv.toml", "index-url = \n"),
        (".config/uv/uv.toml", "index-url = 3\n"),
        (".config/uv/uv.toml", "index = [{url = 3}]\n"),
    ],
)
def test_a_broken_file_is_named(world, place, text):
    path = world.write(world.home / place, text)
    with pytest.raises(UsageError) as caught:
        world.read()
    assert str(path) in f"{caught.value.what} {caught.value.why}"
    assert caught.value.todo


@pytest.mark.parametrize(
    ("place", "text", "where"),
    [
        (".config/uv/uv.toml", "# mine\n[pip\n", "(at line 2, column "),
        (".config/uv/uv.toml", 'index-url = "a"\nindex-url = "b"\n', "(at line 2, column "),
        (".config/pip/pip.conf", "# mine\nindex-url = https://me:secret@127.0.0.1/\n", "(at line 2)"),
        (".config/pip/pip.conf", "[global]\n\nhttps://me:secret@127.0.0.1/ = no\nsecret\n", "(at line 4)"),
        (".config/pip/pip.conf", "[global]\npre = 1\npre = 2\n", "[line  3]"),
    ],
)
def test_a_broken_file_is_told_with_the_place_in_it(world, place, text, where):
    world.write(world.home / place, text)
    with pytest.raises(UsageError) as caught:
        world.read()
    assert where in caught.value.why
    assert "secret" not in caught.value.why
    assert "<string>" not in caught.value.why


def test_places_on_windows_and_macos(tmp_path):
    environ = {"HOME": str(tmp_path), "APPDATA": str(tmp_path / "roaming"), "PROGRAMDATA": str(tmp_path / "data")}
    for name in ("roaming/pip/pip.ini", "data/pip/pip.ini", "pip/pip.ini", "roaming/uv/uv.toml", "data/uv/uv.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    windows = [str(path.relative_to(tmp_path)) for path in pip_files(environ, platform="win32")]
    assert windows == ["data/pip/pip.ini", "pip/pip.ini", "roaming/pip/pip.ini"]
    windows = [str(path.relative_to(tmp_path)) for path in uv_files(environ, platform="win32")]
    assert windows == ["roaming/uv/uv.toml", "data/uv/uv.toml"]
    support = tmp_path / "Library" / "Application Support" / "pip"
    support.mkdir(parents=True)
    (support / "pip.conf").write_text("")
    assert pip_files(environ, platform="darwin", root=tmp_path / "none") == [support / "pip.conf"]
