"""What a backup keeps of an owner's folder, and what it may not write."""

import pytest

from treaty.errors import TreatyError
from treaty.owner.backup import files_of, unpack


def test_policy_source_and_treaties_come_back_and_nothing_is_written_over(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    (old / "treaties").mkdir(parents=True)
    for name in ("policy.toml", "owner.toml", "treaties/one.toml", "records.key"):
        (old / name).write_text(f"# {name}\n")
    kept = files_of(old)
    assert sorted(kept) == ["owner.toml", "policy.toml", "treaties/one.toml"]
    new.mkdir()
    (new / "policy.toml").write_text("# mine\n")
    unpack(kept, new)
    assert (new / "policy.toml").read_text() == "# mine\n"
    assert (new / "treaties" / "one.toml").read_text() == "# treaties/one.toml\n"
    assert (new / "owner.toml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name", ["../policy.toml", "/tmp/policy.toml", "treaties/../../owner.toml", "records.key"]
)
def test_a_backup_writes_nothing_elsewhere(tmp_path, name):
    with pytest.raises(TreatyError, match="is no file of an owner's folder"):
        unpack({name: "x"}, tmp_path / "home")
    assert not (tmp_path / "home").exists()
