# What a person or a CI machine runs. Needs Go (1.21 or newer; it fetches the
# pinned toolchain by itself), gcc for the race detector, Node 20 and npm.

export GOTOOLCHAIN := go1.27.3
# A user's own settings must not change what is built or tested here.
export GOFLAGS :=
export GOWORK := off
# The race detector has a process wait a second before it ends; the tests start hundreds.
export GORACE := atexit_sleep_ms=10

TOOL := go tool -modfile=tools/go.mod

.DEFAULT_GOAL := build
.PHONY: build demo test lint fmt vet staticcheck unit e2e conformance soak cross vuln bench node-deps clean

build:
	CGO_ENABLED=0 go build -trimpath -o bin/sallyport ./cmd/sallyport

# The main job: an agent that believes a poisoned ticket, with and without Sallyport.
demo: build
	./bin/sallyport demo $(DEMO_FLAGS)

# Everything.
test: lint cross unit e2e conformance soak vuln

lint: fmt vet staticcheck

fmt:
	@out="$$($(TOOL) gofumpt -l .)" || exit 1; \
	if [ -n "$$out" ]; then echo "not formatted; run gofumpt -w on:"; echo "$$out"; exit 1; fi

vet:
	go vet ./...

staticcheck:
	$(TOOL) staticcheck ./...

unit:
	CGO_ENABLED=1 go test -race -timeout 30m -skip '^TestGolden$$' $$(go list ./... | grep -v '/e2e$$')
	CGO_ENABLED=0 go test -run '^TestGolden$$' ./bench/agentdojo # twenty thousand sessions

# Real clients, the real program with the race detector in it, real servers. Nothing is
# skipped: SALLYPORT_E2E turns whatever is missing into a failure. The clients themselves
# run without the race detector, which makes their decoding of large results crawl.
e2e: node-deps
	SALLYPORT_E2E=race CGO_ENABLED=1 go test -timeout 20m ./e2e

# The official conformance suite against the official Go SDK's server, directly and
# through the gateway: the verdict on every check must be the same, or stand with its
# reason in e2e/conformance/expected.json. The suite needs Node 22, which comes from npm.
conformance: node-deps
	go run ./e2e/conformance

# Mixed traffic with crashes, disconnects, cancellations and reloads: every id is answered
# once, and nothing grows. By hand for half an hour: make soak SOAK=30m
SOAK := 2m
soak:
	go run ./e2e/soak -for $(SOAK)

# The program runs on Linux and macOS; Windows must go on compiling.
cross:
	GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build ./...
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go build ./...

vuln:
	@sh .ci/vuln.sh

# Figures, not verdicts: nothing fails because a machine is slow.
bench: node-deps
	CGO_ENABLED=0 go test -run '^$$' -bench . -benchmem ./...

# The real servers and clients of the end-to-end tests, exactly as locked.
# No package's install script runs.
node-deps: e2e/node_modules/.sallyport-installed

e2e/node_modules/.sallyport-installed: e2e/package.json e2e/package-lock.json
	cd e2e && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

clean:
	rm -rf bin .cache e2e/node_modules
