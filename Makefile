# Each target sets up first; a second run of that takes a fraction of a second and no network.
export ANNEAL_VENV ?= .venv
PYTHON = "$(ANNEAL_VENV)/bin/python"
PYTEST = $(PYTHON) -m pytest

.PHONY: demo test run screenshots check setup

demo:  ## fine-tune a real model on a real data set, from the terminal, with the window beside it if a display answers
	@packaging/setup.sh
	@$(PYTHON) packaging/demo.py

run:  ## open the window
	@packaging/setup.sh
	@$(PYTHON) -m ui

test:  ## every test, in two processes; fails on a skip that is not listed and on a scenario that did not run
	@packaging/setup.sh test
	@QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 $(PYTEST) -n 2 --dist loadfile --scenarios tests

screenshots:  ## each screen of a real session, in both themes and in a longer language, into build/screenshots
	@packaging/setup.sh test
	@QT_QPA_PLATFORM=offscreen $(PYTHON) -m tests.helpers.screenshots build/screenshots

check:  ## style, types and walls
	@packaging/setup.sh test
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	MYPYPATH=packaging $(PYTHON) -m mypy packaging/demo.py packaging/demo_model.py
	PYTHONPATH=. "$(ANNEAL_VENV)/bin/lint-imports"

setup:  ## only the set-up that the others begin with
	@packaging/setup.sh test
