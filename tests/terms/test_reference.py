"""The reference of treaty.toml says something about every key, and about no other."""

import tomllib

from treaty.terms.reference import EFFECTS, NONE, SECTIONS, keys


def test_every_key_is_explained_and_no_other():
    there = {(key.table, key.name) for key in keys()}
    assert len(there) == sum(len(model.model_fields) for model in SECTIONS.values())
    assert len(EFFECTS) == len(there)
    for key in keys():
        assert key.meaning, key
        assert key.effect.privacy or key.effect.privacy == NONE
        assert key.effect.error


def test_every_example_is_valid_toml_and_names_its_key():
    for key in keys():
        written = tomllib.loads(key.effect.example)
        assert key.name in written or key.name in ("features", "parties"), key


def test_defaults_are_those_of_the_code():
    defaults = {(key.table, key.name): key.default for key in keys()}
    assert defaults["training", "horizon"] is None
    assert defaults["training", "mechanism"] == '"laplace"'
    assert defaults["target", "rescale"] == "true"
    assert defaults["[parties]", "delta"] == "0.0"
