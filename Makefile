# The front door. Everything below needs Python >= 3.11 and, for the lab, an x86-64 Debian or Ubuntu.
#   make demo       set up, build and boot the lab box, provision it, prove it,
#                   let it serve and ask it
#   make demo-down  end the lab box
#   make test       set up and run every test that this machine can run;
#                   TESTS="-k grub" narrows; LONG=1 adds another hour: sessions in
#                   VMs of drivers, serving and the fleet
#   make ptx        compile the GPU kernels after a change of tunecheck.cu
#                   (needs nvcc)
#   make setup      make the virtual environment .venv; the commands above do it too
#   make lint | lock | clean
#                   check the code; renew the locks; clean removes all that was made
PYTHON ?= python3
TESTS ?=
export LONG ?=
front = @$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("make: Python %d.%d is too old, expected 3.11 or later; name one: make PYTHON=python3.13 ..." % sys.version_info[:2])' && exec $(PYTHON) -m lab.front

# `make` alone starts nothing: it prints the comment above.
.PHONY: help
help:
	@sed -n '2,/removes all/s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))
.PHONY: setup demo demo-down test lint lock ptx clean
demo:
	$(front) demo
demo-down:
	$(front) demo-down
setup:
	$(front) setup
test:
	$(front) test $(TESTS)
lint:
	$(front) lint
lock:
	$(front) lock
ptx:
	$(front) ptx
# Everything that is made, none of it tracked; a running lab box is ended first.
clean: demo-down
	rm -rf .venv .lab .wheelhouse reports dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .ansible
	find checks lab playbooks tests -name __pycache__ -prune -exec rm -rf {} +
