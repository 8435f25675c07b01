"""What an owner's folder promises: offers in words, one dataset a ledger, policies that fail closed."""

import os
from datetime import UTC, datetime

import pytest

from treaty.errors import Refusal, TreatyError
from treaty.owner import Home, Policy
from treaty.privacy import Budget
from treaty.terms import fingerprint, fit, loads
from world import NAMES, RECORDS, World, treaty_text, write_rows

DOCUMENT = fit(loads(treaty_text()), None)


@pytest.fixture
def data(tmp_path):
    return write_rows(tmp_path / "ours.parquet", 0)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def test_an_offer_says_what_is_granted_and_writes_nothing(home, data):
    offer = home.offer(DOCUMENT, NAMES[0], 1.0, data)
    words = offer.words()
    for part in (
        "300 records",
        "at most 8 times",
        "squared loss",
        "a: -4 to 4",
        "y, to be predicted: -8 to 8",
        "ε = 1",
        "2.72",
    ):
        assert part in words
    assert "ε = 2 is left" in words
    assert not home.folder.exists()


def test_ratifying_writes_ledger_policy_and_treaty(home, data):
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    ledger = home.ledger()
    grant, given = ledger.grants()[0]
    assert grant.treaty == fingerprint(DOCUMENT)
    assert (grant.budget, grant.answers, given) == (Budget(1.0), 8, 0)
    assert ledger.dataset.records == RECORDS
    ledger.close()
    assert Policy.load(home.policy_file) == Policy()
    opened = home.open()
    opened.close()
    with pytest.raises(Refusal, match="granted a budget already"):
        home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)


def test_all_treaties_over_one_dataset_share_one_cap(home, data):
    for i, horizon in enumerate((4, 5, 6)):
        other = fit(loads(treaty_text(horizon=horizon)), None)
        home.ratify(home.offer(other, NAMES[0], 1.0, data), data)
        ledger = home.ledger()
        assert float(ledger.committed()[0]) == i + 1
        ledger.close()
    last = fit(loads(treaty_text(horizon=7)), None)
    with pytest.raises(Refusal, match="does not fit under the policy's total of 3: 0 is left"):
        home.offer(last, NAMES[0], 1.0, data)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("Nobody", 1.0), "Nobody is not a party to this treaty"),
        ((NAMES[0], 0.5), "must be what all parties read"),
    ],
)
def test_what_cannot_be_offered(home, data, arguments, says):
    with pytest.raises(TreatyError, match=says):
        home.offer(DOCUMENT, *arguments, data)


def test_other_numbers_of_records_than_the_treaty_says(home, tmp_path):
    few = write_rows(tmp_path / "few.parquet", 0, count=250)
    with pytest.raises(TreatyError, match=r"there are 250 records, and the treaty says .* 300"):
        home.offer(DOCUMENT, NAMES[0], 1.0, few)


def test_another_dataset_needs_another_ledger(home, data, tmp_path):
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    other = write_rows(tmp_path / "other.parquet", 5)
    second = fit(loads(treaty_text(horizon=5)), None)
    with pytest.raises(TreatyError, match="another dataset needs a ledger of its own"):
        home.ratify(home.offer(second, NAMES[0], 1.0, other), other)


def test_records_that_changed_stop_the_owner(home, data):
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    opened = home.open()
    opened.check_records()
    write_rows(data, 1)
    with pytest.raises(TreatyError, match="have changed while being asked about"):
        opened.check_records()
    opened.close()
    with pytest.raises(TreatyError, match="these are not the records of this ledger"):
        home.open()
    data.unlink()
    with pytest.raises(TreatyError, match="no such file"):
        home.open()


def test_without_a_policy_nothing_is_answered(home, data):
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    home.policy_file.unlink()
    with pytest.raises(TreatyError, match="there is no policy, and nothing is answered without"):
        home.open()
    with pytest.raises(TreatyError, match="there is no policy"):
        home.offer(fit(loads(treaty_text(horizon=5)), None), NAMES[0], 1.0, data)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("largest_epsilon = 0.5", "allows one treaty an epsilon of 0.5, and 1 is asked for"),
        ("largest_horizon = 5", "a horizon of 5, not 8"),
        ("smallest_records = 1000", "at least 1,000 records; there are 300"),
        ('losses = ["hinge"]', "does not allow the loss squared"),
        ('columns = ["a", "y"]', 'does not allow the column "b"'),
        (f'treaties = ["{"0" * 64}"]', "lists the treaties it allows"),
    ],
)
def test_policies_refuse(tmp_path, line, says):
    path = tmp_path / "policy.toml"
    path.write_text(line)
    policy = Policy.load(path)

    def check() -> None:
        policy.check_terms(DOCUMENT)
        policy.check_grant(RECORDS, Budget(1.0))

    with pytest.raises(Refusal, match=says):
        check()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense =", "not valid TOML"),
        ("largest_epsilom = 1.0", "largest_epsilom: Extra inputs"),
        ("largest_epsilon = -1.0", "largest_epsilon"),
        ("largest_epsilon = inf", "largest_epsilon"),
        ("largest_epsilon = 5.0", "largest_epsilon is above total_epsilon"),
        ('quiet_hours = ["late"]', "quiet hours are written"),
        ('quiet_hours = ["22:00Z-06:00Z"]', "quiet hours are written"),
        ('quiet_hours = ["08:00-08:00"]', "quiet hours are written"),
        ("answers_per_hour = 0", "answers_per_hour"),
    ],
)
def test_doubtful_policies_are_errors(tmp_path, text, says):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    with pytest.raises(TreatyError, match=says):
        Policy.load(path)


def test_a_delta_needs_the_policys_word(tmp_path):
    with pytest.raises(Refusal, match="allows a delta of 0, and 1e-06 is asked for"):
        Policy().check_grant(RECORDS, Budget(1.0, 1e-6))


@pytest.mark.parametrize(
    ("clock", "waits"),
    [("23:00", 7 * 3600), ("05:59", 60), ("06:00", 0), ("21:59", 0), ("13:30", 1800)],
)
def test_quiet_hours(clock, waits):
    policy = Policy(quiet_hours=("22:00-06:00", "13:00-14:00"))
    hour, minute = clock.split(":")
    now = datetime(2026, 3, 1, int(hour), int(minute), tzinfo=UTC)
    assert policy.wait(0, now) == waits


def test_only_so_many_answers_an_hour():
    policy = Policy(answers_per_hour=5)
    now = datetime(2026, 3, 1, tzinfo=UTC)
    assert policy.wait(4, now) == 0
    assert policy.wait(5, now) > 0


def test_a_lower_total_holds_from_the_next_start(home, data):
    for horizon in (4, 5):
        other = fit(loads(treaty_text(horizon=horizon)), None)
        home.ratify(home.offer(other, NAMES[0], 1.0, data), data)
    text = home.policy_file.read_text().replace("total_epsilon = 3.0", "total_epsilon = 1.0")
    home.policy_file.write_text(text)
    opened = home.open()
    assert float(opened.ledger.cap[0]) == 1.0
    opened.close()


def test_a_home_has_one_name_and_a_treaty_one_grant(home, data):
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    with pytest.raises(TreatyError, match="River Bank needs a folder of its own"):
        home.offer(DOCUMENT, NAMES[1], 1.0, data)
    with pytest.raises(Refusal, match="granted a budget already"):
        home.offer(DOCUMENT, NAMES[0], 1.0, data, peers=True)


def test_a_folder_that_is_there_and_empty_is_as_good_as_none(home, data):
    home.folder.mkdir()
    home.ratify(home.offer(DOCUMENT, NAMES[0], 1.0, data), data)
    home.open().close()


def test_more_than_the_defaults_needs_a_policy_first(home, data):
    text = treaty_text(epsilon=2.0)
    document = fit(loads(text), None)
    with pytest.raises(
        Refusal, match=r"these are the defaults, write another policy into .*policy"
    ):
        home.offer(document, NAMES[0], 2.0, data)
    home.folder.mkdir()
    home.policy_file.write_text("largest_epsilon = 2.0")
    home.ratify(home.offer(document, NAMES[0], 2.0, data), data)


@pytest.mark.parametrize("owners", [2, 3, 5, 7, 9, 11])
def test_the_shares_of_peers_are_never_more_than_the_whole(owners):
    from fractions import Fraction

    for epsilon in (1.0, 0.1, 0.7, 3.0):
        assert Fraction(Budget(epsilon).split(owners).epsilon) * owners <= Fraction(epsilon)


def test_a_title_that_hides_what_follows_is_no_title():
    with pytest.raises(TreatyError, match="cannot be printed"):
        loads(treaty_text().replace("three banks", "nice\\u001b[8m"))


def test_keys_are_for_their_owner_only(tmp_path):
    world = World(tmp_path)
    for key in world.federation.rglob("key.pem"):
        assert key.stat().st_mode & 0o077 == 0
    assert not list(world.federation.glob("owners/*/nats.conf"))
    assert os.listdir(world.federation / "owners" / os.listdir(world.federation / "owners")[0])


def test_moments_that_are_too_long_for_a_message_are_not_ratified(tmp_path):
    """512 columns have 131,840 moments."""
    names = ", ".join(f'"{i}"' for i in range(511))
    text = treaty_text("one-shot", 1).replace(
        "[target]", f'[features.c]\nkind = "one-hot"\ncategories = [{names}]\n[target]'
    )
    home, data = Home(tmp_path / "home"), write_rows(tmp_path / "rows.parquet", 1)
    with pytest.raises(TreatyError, match=r"an answer would have .* numbers"):
        home.offer(fit(loads(text), None), NAMES[0], 1.0, data)
