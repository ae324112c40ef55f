# `make help` lists what there is. Nothing here needs root except `make deps`,
# and no test needs it either: those that do are skipped with a word without it.

GO ?= go
# The race detector needs a C compiler; without one the tests still run.
RACE := $(shell command -v $${CC:-gcc} >/dev/null 2>&1 && echo -race)
LINT := $(GO) tool -modfile=tools/go.mod golangci-lint
FUZZTIME ?= 10
BENCH ?= .
TESTFLAGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/plimsoll, one static file
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/plimsoll ./cmd/plimsoll

# WiredTiger is GPL, and so is the program that is linked with it: plimsoll only starts it.
.PHONY: worker
worker: ## build bin/plimsoll-wiredtiger, which the laboratory runs WiredTiger in (Debian: gcc libc6-dev libwiredtiger-dev)
	@mkdir -p bin
	$${CC:-gcc} -std=gnu11 -O2 $(CFLAGS) -o bin/plimsoll-wiredtiger internal/engine/mongodb/worker/c/*.c $(LDFLAGS) -lwiredtiger -lpthread

# The versions of etcd and of all it is made of stand in a module of their own, as the linters' do.
.PHONY: etcd
etcd: ## build bin/etcd-current, a newer etcd than Debian's for the laboratory (tools/etcd)
	cd tools/etcd && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/etcd-current go.etcd.io/etcd/server/v3

.PHONY: kubectl-validate
kubectl-validate: ## build bin/kubectl-validate, which holds emitted manifests to Kubernetes' schemas (tools/kubernetes)
	cd tools/kubernetes && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/kubectl-validate sigs.k8s.io/kubectl-validate

# Thanos takes label sets for slices of pairs, which they are only with the tag slicelabels: without it, it starts and then crashes.
.PHONY: thanos
thanos: ## build bin/thanos, the distributed engine that package fleet's tests start (tools/thanos); some minutes
	cd tools/thanos && CGO_ENABLED=0 $(GO) build -trimpath -tags netgo,slicelabels -o ../../bin/thanos github.com/thanos-io/thanos/cmd/thanos

# What a container has of this machine: the authorities in /etc/ssl/certs (Debian: ca-certificates).
.PHONY: image
image: build ## make bin/plimsoll.tar, a container image, without a daemon
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run ./deploy/image -program bin/plimsoll -out bin/plimsoll.tar

.PHONY: generate
generate: ## write anew what is made from the code: Grafana's dashboard, deploy/rules.yaml, the scenario's fields, ARCHITECTURE.md's table
	@mkdir -p build
	$(GO) run ./deploy/grafana > build/plimsoll.json && mv build/plimsoll.json deploy/grafana/plimsoll.json
	$(GO) run ./cmd/plimsoll rules export --to prometheusrule > build/rules.yaml && mv build/rules.yaml deploy/rules.yaml
	$(GO) test -count=1 ./internal/model/scenario -run FieldDocs -update
	$(GO) test -count=1 ./internal/check/archtest -run TestTree -update

.PHONY: release-check
release-check: image ## what a release is made of builds, and the image runs (as root; else it is said)
	PLIMSOLL=bin/plimsoll deploy/build/extras build/extras
	@deploy/image/try bin/plimsoll.tar || [ $$? -eq 77 ]

.PHONY: snapshot
snapshot: ## make a whole release in dist/ to look at; builds goreleaser first, in some minutes
	$(GO) tool -modfile=tools/release/go.mod goreleaser release --snapshot --clean

.PHONY: release
release: ## make the release of the tag that is checked out, in dist/
	$(GO) tool -modfile=tools/release/go.mod goreleaser release --clean

.PHONY: check
check: deps test ## install what the full tests need (as root), then test

# Models take the time as an argument and run in one goroutine: the race detector would only make them five times as slow.
MODELS := ./internal/model/engine ./internal/model/kernel ./internal/model/volume/... ./internal/model/workload ./internal/model/catalog/... ./internal/base/vtime ./internal/base/random ./internal/engine/enginetest $(wildcard ./internal/engine/*/model)

.PHONY: test
test: ## vet, then all tests, but for the models' under the race detector
	@$(if $(RACE),,echo "no C compiler: testing without the race detector (Debian: apt-get install gcc)")
	$(GO) vet $(RACE) ./...
	$(GO) test -vet=off $(TESTFLAGS) $(MODELS) && failed=0 || failed=1; \
	$(GO) test $(RACE) -vet=off $(TESTFLAGS) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(MODELS))") && exit $$failed

.PHONY: lint
lint: ## formatting and the linters of .golangci.yml
	@unformatted="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):" $$unformatted; exit 1; fi
	$(LINT) run ./...

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME=10 seconds
	.ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## run the benchmarks, BENCH=regexp for some
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: screenshots
screenshots: build ## make the README's screenshots anew (Debian: chromium-headless-shell)
	docs/img/make.sh bin/plimsoll

.PHONY: deps
deps: ## as root on Debian, install real engines and tools for the full tests
	.ci/deps

.PHONY: ci
ci: ## everything the checks of a change run, in order
	bash .ci/run

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin build dist
