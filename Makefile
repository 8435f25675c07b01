# The first run of any target makes the environment .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint docs bench clean

demo: $(READY)
	$(BIN)/treaty demo --picture demo.png

test: $(READY) lint
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright

docs: $(READY)
	$(BIN)/python -m sphinx -W --keep-going -b html docs site

bench: $(READY)
	$(BIN)/python -m bench.sweep
	$(BIN)/python -m bench.svm_sweep
	$(BIN)/python -m bench.headline
	$(BIN)/python -m bench.memory
	$(BIN)/python -m bench.forecast_speed
	$(BIN)/python -m bench.forecast_error
	$(BIN)/python -m bench.one_shot
	$(BIN)/python -m bench.house
	$(BIN)/python -m bench.own_gain
	$(BIN)/python -m bench.own_decisions
	$(BIN)/python -m bench.verdicts
	$(BIN)/python -m bench.fraud
	$(BIN)/python -m bench.drafts
	$(BIN)/python -m bench.first_hour
	$(BIN)/python -m bench.messages
	$(BIN)/python -m bench.cost_of_privacy
	$(BIN)/python -m bench.few_rows
	$(BIN)/python -m bench.foreign_rows
	$(BIN)/python -m bench.steady
	$(BIN)/python -m bench.reading
	$(BIN)/python -m bench.decisions
	$(BIN)/python -m bench.live
	$(BIN)/python -m bench.many_owners
	$(BIN)/python -m bench.faults --seconds 120
	$(BIN)/python -m bench.fuzz --seconds 60
	$(BIN)/python -m bench.extremes
	$(BIN)/python -m bench.generators
	$(BIN)/python -m bench.reproduce

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[federation,sql,excel,demo,dev,docs]'
	touch $(READY)

clean:
	rm -rf .venv site
