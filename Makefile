# make          builds bin/teammemd
# make test     passes every test, on a machine with only Go, git and make
# make lint     what CI refuses besides failing tests
# make help     the rest

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

GOLANGCI_LINT_VERSION := v2.15.0
GOFUMPT_VERSION := v0.12.0

# Histories of the simulation: without the race detector, with it, and in the
# two long targets.
SEEDS ?= 2000000
TEST_SEEDS ?= 20000
RACE_SEEDS ?= 1000
PROOF_SEEDS ?= 100000
# Random steps of the planner, and histories of real processes, in a proof.
PROOF_STEPS ?= 10000000
PROOF_HISTORIES ?= 200
# Times that two processes renew one sign-in at once in a proof.
PROOF_RENEWALS ?= 500
# Primaries of PostgreSQL that are killed in a proof.
FAILOVERS ?= 20
FUZZTIME ?= 10s
# For each of the scanner's three fuzz targets: a minute in all, and ten in a
# proof.
SCAN_FUZZTIME ?= 20s
PROOF_SCAN_FUZZTIME ?= 200s
BENCH ?= .

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null)
LDFLAGS := -s -w -X main.version=$(VERSION)
TOOLS := .cache/bin
SKIPCHECK := $(TOOLS)/skipcheck
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)
GOFUMPT := $(TOOLS)/gofumpt-$(GOFUMPT_VERSION)
TARGETS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# One run of go test: its closing lines, its failures, and its skips.
gotest = go test -json -count=1 $(1) | $(SKIPCHECK)
# The same with what the tests measured, for the summary of a proof.
figures = go test -json -count=1 $(1) | $(SKIPCHECK) -figures
PROOF := .cache/proof.log

.PHONY: build
build: ## build bin/teammemd, stripped
	go build -trimpath -ldflags "$(LDFLAGS)" -o bin/teammemd ./cmd/teammemd

.PHONY: test
test: tools unit race fuzz-scanner ## install what the tests need, run them all, then most with the race detector

.PHONY: tools
tools:
	@tests/tools.sh

.PHONY: unit
unit: $(SKIPCHECK) ## every test, full counts, no race detector
	$(call gotest,-timeout 10m $$(go list ./... | grep -Ev '/(sync/simtest|tests|tests/gitea)$$'))
	$(call gotest,-timeout 15m -parallel 4 ./tests) # alone: some of it is timed; most of it waits
	$(call gotest,-timeout 10m ./sync/simtest -args -seeds $(TEST_SEEDS))

.PHONY: race
# The conformance suites of the stores take a quarter of an hour: they are in the
# proof, as is all of PostgreSQL's store.
race: $(SKIPCHECK) ## small counts with the race detector
	@command -v "$$(go env CC)" >/dev/null || { echo "SKIP race: it needs a C compiler"; test -z "$${CI:-}"; exit; }; \
	echo "with the race detector"; export CGO_ENABLED=1; \
	$(call gotest,-race -short -timeout 10m $$(go list ./... | grep -Ev '/(tests|etc|systemd|sync/simtest|scanner/corpus|server/store/(pgstore|sqlitestore))(/|$$)')); \
	$(call gotest,-race -short -timeout 10m -skip '^Test(Conformance|Sealed|Accounts)$$' ./server/store/sqlitestore); \
	$(call gotest,-race -timeout 10m ./sync/simtest -args -seeds $(RACE_SEEDS))

.PHONY: lint
lint: $(GOLANGCI_LINT) $(GOFUMPT) ## go vet, gofumpt, golangci-lint, go mod tidy
	go vet ./...
	@unformatted=$$($(GOFUMPT) -extra=group_params -l .); test -z "$$unformatted" || { echo "gofumpt -extra=group_params -w: $$unformatted" >&2; exit 1; }
	$(GOLANGCI_LINT) run -j 2 ./...
	go mod tidy -diff

.PHONY: cross
cross: ## build for every system that we ship to
	@for target in $(TARGETS); do \
		echo "build $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build ./...; \
	done

.PHONY: bench
bench: ## benchmarks; BENCH=regexp chooses
	go test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: scan-precision
scan-precision: ## false alarms and speed of the scanner on real Markdown; DIRS="a b" adds folders, LIST=1 names what blocks
	go run ./tests/scanprecision $(if $(LIST),-list) $(DIRS)

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME
	@grep -rEo --include='*_test.go' '^func Fuzz\w+' . | while IFS=: read -r file func; do \
		echo "fuzz $${file%/*} $${func#func }"; \
		go test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) "$${file%/*}"; \
	done

.PHONY: fuzz-scanner
fuzz-scanner: ## the scanner's fuzz targets for SCAN_FUZZTIME each
	tests/fuzz.sh ./scanner FuzzScan $(SCAN_FUZZTIME)
	tests/fuzz.sh ./scanner/view FuzzNormalise $(SCAN_FUZZTIME)
	tests/fuzz.sh ./scanner/view FuzzDecode $(SCAN_FUZZTIME)

.PHONY: failover
failover: tools $(SKIPCHECK) ## kills the primary of a PostgreSQL with two standbys under load, FAILOVERS times
	$(call figures,-timeout 0 ./tests -run '^TestFailover$$' -args -failovers $(FAILOVERS))

.PHONY: scale
scale: $(SKIPCHECK) ## what many entries, streams, listeners and writers cost, each beside its floor
	$(call figures,-p 1 -timeout 0 ./server ./server/store/sqlitestore -run '^TestScale' -args -scale)

.PHONY: proof
proof: tools $(SKIPCHECK) ## the full counts, before an issue is called resolved; a summary at the end
	@mkdir -p .cache; begun=$$SECONDS; { \
		$(call figures,-timeout 0 ./sync -run '^TestPlan' -args -steps $(PROOF_STEPS)); \
		$(call figures,-timeout 0 ./sync/simtest -args -seeds $(PROOF_SEEDS)); \
		$(call figures,-timeout 0 ./tests -run '^TestSoak$$' -args -histories $(PROOF_HISTORIES)); \
		$(call figures,-timeout 0 ./server/store/sqlitestore -run '^TestKilledWhileWriting$$' -args -kills 100); \
		$(call figures,-timeout 0 -run '^TestF[0-9]' $$(go list ./... | grep -v '/tests$$')); \
		$(call figures,-timeout 0 ./tests -run '^TestFailover$$' -args -failovers $(FAILOVERS)); \
		$(call figures,-timeout 0 ./cmd/teammemd -run '^TestPostgresRestoreKilled$$' -args -killedrestores 30); \
		$(call figures,-timeout 0 ./internal/signin -run '^TestProcessesRenewAtOnce$$' -args -renewals $(PROOF_RENEWALS)); \
		TEAMMEMD_TEST_CRASH=all $(call figures,-timeout 0 -run '^TestF[0-9]' ./tests); \
		$(call figures,-race -short -timeout 0 ./server/store/pgstore ./server/store/sqlitestore); \
		$(MAKE) --no-print-directory scale; \
		go run ./tests/teeth -all; \
		$(MAKE) --no-print-directory fuzz-scanner SCAN_FUZZTIME=$(PROOF_SCAN_FUZZTIME); \
	} 2>&1 | tee $(PROOF); \
	printf '\nproof of %s, %s, %s processors, %s s\n' "$(VERSION)" "$$(go env GOVERSION GOOS GOARCH | tr '\n' ' ')" "$$(getconf _NPROCESSORS_ONLN)" $$((SECONDS - begun)); \
	sed -n 's/^FIGURE /  /p; s/^SKIP /  SKIP /p' $(PROOF)

.PHONY: teeth
teeth: ## plants every mistake of internal/planted; the suites have to catch it
	go run ./tests/teeth

.PHONY: soak
soak: ## SEEDS histories of the simulation; FIRST= begins elsewhere
	go test -count=1 -timeout 0 -v -run 'TestHistories|TestSameSeed' ./sync/simtest -args -soak -seeds $(SEEDS) -first $(or $(FIRST),0)

.PHONY: gitea
gitea: .cache/gitea/gitea $(SKIPCHECK) ## sign in with a real forge, built once from the module proxy; needs a C compiler
	TEAMMEMD_GITEA=$(CURDIR)/.cache/gitea $(call gotest,-timeout 10m ./tests/gitea)

.cache/gitea/gitea: tests/gitea/build.sh
	tests/gitea/build.sh $(CURDIR)/.cache/gitea

.PHONY: vuln
vuln: ## known vulnerabilities in what we call
	go run golang.org/x/vuln/cmd/govulncheck@v1.6.0 ./...

.PHONY: clean
clean:
	rm -rf bin dist .cache

.PHONY: help
help:
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: $(SKIPCHECK)
$(SKIPCHECK):
	@go build -o $@ ./tests/skipcheck

$(GOLANGCI_LINT):
	GOBIN=$(CURDIR)/$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(TOOLS)/golangci-lint $@

$(GOFUMPT):
	GOBIN=$(CURDIR)/$(TOOLS) go install mvdan.cc/gofumpt@$(GOFUMPT_VERSION)
	mv $(TOOLS)/gofumpt $@
