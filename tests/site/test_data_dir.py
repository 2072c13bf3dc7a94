"""Files in DATA_DIR are readable by their owner only."""

import os
import stat
import subprocess
import sys

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from scheduler_site.data_dir import protect

PROGRAMS = {
    "command": ("manage.py", "check"),
    "worker and beat": ("-m", "celery", "--app", "scheduler_site", "report"),
    "web": ("-c", "import scheduler_site.asgi"),
}


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_files_that_a_program_creates_are_readable_by_their_owner_only(tmp_path, program):
    """Each program creates the keys if it is the first to start."""
    folder = tmp_path / "new" / "data"
    without_keys = dict.fromkeys(("DATABASE_URL", "SECRET_KEY", "ENCRYPTION_KEYS"), "")
    environment = os.environ | without_keys | {"DATA_DIR": str(folder)}
    environment["DJANGO_SETTINGS_MODULE"] = "scheduler_site.settings"

    subprocess.run(
        [sys.executable, *program], cwd=settings.BASE_DIR, env=environment, umask=0, check=True, capture_output=True
    )

    written = [folder, *folder.iterdir()]
    assert folder / "secret_key" in written
    assert {path.name: oct(mode(path)) for path in written if mode(path) & 0o077} == {}


def test_permissions_of_an_old_installation_are_corrected(tmp_path, capsys):
    (tmp_path / "broker" / "appendonlydir").mkdir(parents=True)
    names = ("quando.sqlite3", "quando.sqlite3-wal", "quando.sqlite3-shm", "secret_key", "broker/appendonlydir/1.aof")
    for name in names:
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    (tmp_path / "notes").touch()
    (tmp_path / "notes").chmod(0o644)
    tmp_path.chmod(0o755)

    protect(tmp_path)
    message = capsys.readouterr().err
    protect(tmp_path)

    assert {name: mode(tmp_path / name) for name in names} == dict.fromkeys(names, 0o600)
    assert mode(tmp_path) == mode(tmp_path / "broker") == mode(tmp_path / "broker" / "appendonlydir") == 0o700
    assert mode(tmp_path / "notes") == 0o644  # not written by Quando
    assert message == f"quando: DATA_DIR {tmp_path} could be read by others; now only its owner can\n"
    assert capsys.readouterr().err == ""


def test_permissions_are_not_changed_through_symbolic_links(tmp_path):
    (tmp_path / "elsewhere").touch()
    (tmp_path / "elsewhere").chmod(0o644)
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")

    protect(tmp_path)

    assert mode(tmp_path / "elsewhere") == 0o644


def test_data_dir_that_others_can_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o1777)

    with pytest.raises(ImproperlyConfigured, match="can be written by others"):
        protect(tmp_path)

    assert mode(tmp_path) == 0o1777


def start_broker(folder) -> subprocess.CompletedProcess:
    """Start the broker of an installation whose database is elsewhere; it refuses to serve another machine."""
    variables = {
        "DATA_DIR": str(folder),
        "DATABASE_URL": "postgresql://db.example.org/quando",
        "SECRET_KEY": "k" * 50,
        "ENCRYPTION_KEYS": "KAUoSCCLVVSI1cmNmwviKfmysaqQ3zMaNilu1MuIbW4=",
        "BROKER_URL": "redis://broker.example.org/0",
    }
    command = [sys.executable, "-m", "scheduler_site.broker"]
    return subprocess.run(
        command, cwd=settings.BASE_DIR, env=os.environ | variables, capture_output=True, text=True, timeout=60
    )


def test_broker_corrects_a_data_dir_that_others_can_read(tmp_path):
    tmp_path.chmod(0o755)

    broker = start_broker(tmp_path)

    assert mode(tmp_path) == 0o700
    assert "could be read by others" in broker.stderr


def test_broker_refuses_a_data_dir_that_others_can_write_to(tmp_path):
    tmp_path.chmod(0o777)

    broker = start_broker(tmp_path)

    assert broker.returncode == 1
    assert broker.stderr.startswith(f"quando: DATA_DIR {tmp_path} can be written by others")
    assert list(tmp_path.iterdir()) == []
