# `make help` lists the targets. Only `make deps` needs root. Tests that need root skip with a
# message without it.

GO ?= go
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

# WiredTiger is under the GPL, and so is the program linked with it; plimsoll only starts that
# program. On Debian it needs gcc, libc6-dev and libwiredtiger-dev.
.PHONY: worker
worker: ## build bin/plimsoll-wiredtiger, the lab's WiredTiger server
	@mkdir -p bin
	$${CC:-gcc} -std=gnu11 -O2 $(CFLAGS) -o bin/plimsoll-wiredtiger \
		internal/engine/mongodb/worker/c/*.c $(LDFLAGS) -lwiredtiger -lpthread

.PHONY: bpf
bpf: ## compile the eBPF programs of plimsoll trace; the object is committed (Debian: clang llvm)
	.ci/bpf internal/trace/tracer/bpf/trace.bpf.o

.PHONY: kernels
kernels: ## run plimsoll trace on Debian's 5.10, 6.1 and 6.12, in emulated machines; takes minutes
	@.ci/kernels $(KERNEL) || [ $$? -eq 77 ]

.PHONY: trace-cost
trace-cost: ## measure what a trace costs, as root on a machine that does nothing else; 20 minutes
	PATH="$(CURDIR)/bin:$$PATH" $(GO) test ./internal/trace -run '^$$' -bench Cost/memory -benchtime 100s -timeout 40m

# A separate module has the versions of etcd and its dependencies, as for the linters.
.PHONY: etcd
etcd: ## build bin/etcd-current, a newer etcd than Debian's, for the lab
	cd tools/etcd && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/etcd-current \
		go.etcd.io/etcd/server/v3

# Apache-2.0; it stands in for AWS. --prefer-binary: nothing is to be compiled.
.PHONY: moto
moto: bin/moto/bin/moto_server ## install bin/moto, PyPI's moto[server], for the tests of package amazon
bin/moto/bin/moto_server:
	python3 -m venv bin/moto
	bin/moto/bin/pip install --quiet --disable-pip-version-check --prefer-binary 'moto[server]==5.2.5'

.PHONY: kubectl-validate
kubectl-validate: ## build bin/kubectl-validate, for a test of emitted manifests
	cd tools/kubernetes && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/kubectl-validate \
		sigs.k8s.io/kubectl-validate

# Kubernetes' own API server, for tests of what changes a cluster. It takes minutes.
.PHONY: kube-apiserver
kube-apiserver: ## build bin/kube-apiserver, for tests on a real API; takes minutes
	cd tools/kube-apiserver && CGO_ENABLED=0 $(GO) build -trimpath -o ../../bin/kube-apiserver \
		k8s.io/kubernetes/cmd/kube-apiserver

# Thanos assumes that label sets are slices of pairs, which needs the tag slicelabels: without it,
# Thanos starts and then crashes.
.PHONY: thanos
thanos: ## build bin/thanos, for the tests of package fleet; takes minutes
	cd tools/thanos && CGO_ENABLED=0 $(GO) build -trimpath -tags netgo,slicelabels \
		-o ../../bin/thanos github.com/thanos-io/thanos/cmd/thanos

# The image contains this machine's certificate authorities, /etc/ssl/certs (Debian:
# ca-certificates).
.PHONY: image
image: build ## build bin/plimsoll.tar, a container image; needs no daemon
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(GO) run ./deploy/image -program bin/plimsoll \
		-out bin/plimsoll.tar

# What a change of one rule needs, without the other rules' cases: its script, its page, the shape of its commands.
.PHONY: rule
rule: ## check one rule and write its page's commands: RULE=postgres/checkpoint-burst
	@test -n "$(RULE)" || { echo "usage: make rule RULE=postgres/checkpoint-burst" >&2; exit 2; }
	@script=$$(find internal -path '*/testdata/$(subst /,-,$(RULE)).test'); \
		test -n "$$script" || { echo "no testdata/$(subst /,-,$(RULE)).test in internal/" >&2; exit 1; }; \
		page=docs/rules/$(subst /,-,$(RULE)).md; \
		test -f $$page || { echo "no $$page" >&2; exit 1; }; \
		! grep -n TODO $$script $$page $$(dirname $$(dirname $$script))/*.go || { echo "replace these first" >&2; exit 1; }; \
		$(GO) run ./cmd/plimsoll rules test "$$script"
	$(GO) test -count=1 ./internal/judge/act -run 'PagesHave' -update
	$(GO) test -count=1 ./internal/judge/act -run 'PagesRepeat|AdviceIsNot|AdviceHas|RemediesAre|UndoHas'
	$(GO) test -count=1 ./internal/judge/ruletest -run TestCoverageIsComplete

.PHONY: new-rule
new-rule: ## write the files of a new rule, to fill in: RULE=postgres/short-timeout
	@$(GO) run ./internal/check/newrule "$(RULE)"

.PHONY: new-engine
new-engine: ## write the folder of a new engine, to fill in: ENGINE=mystore
	@$(GO) run ./internal/check/newengine "$(ENGINE)"

.PHONY: generate
generate: ## regenerate the dashboard, deploy/rules.yaml and generated docs
	@mkdir -p build
	$(GO) run ./deploy/grafana > build/plimsoll.json && \
		mv build/plimsoll.json deploy/grafana/plimsoll.json
	$(GO) run ./cmd/plimsoll rules export -o prometheusrule > build/rules.yaml && \
		mv build/rules.yaml deploy/rules.yaml
	$(GO) test -count=1 ./internal/model/scenario -run FieldDocs -update
	$(GO) test -count=1 ./internal/judge/act -run PagesHave -update
	$(GO) test -count=1 ./internal/check/archtest -run TestTree -update
	$(GO) test -count=1 ./internal/check/licences -run TestLicences -update
	$(GO) test -count=1 ./cmd/plimsoll -run 'TestSchemas$$' -update
	$(GO) run ./internal/check/prose vocabulary
	$(GO) test -count=1 ./docs -run 'TestSamples|TestGenerated' -update

.PHONY: arc
arc: build ## the arc with a real engine, as root: ENGINE=mongodb (PLIMSOLL_MONGOD) or postgres
	@ENGINE=$(or $(ENGINE),mongodb) PLIMSOLL=bin/plimsoll examples/arc/arc.sh || [ $$? -eq 77 ]

.PHONY: rollout
rollout: build ## a rollout with a real PostgreSQL, killed and proved, as root; 10 minutes, QUICK=1: three; ENGINE=mongodb: PLIMSOLL_MONGOD
	@ENGINE=$(or $(ENGINE),postgres) PLIMSOLL=bin/plimsoll examples/rollout/rollout.sh $(if $(QUICK),--quick) || [ $$? -eq 77 ]

.PHONY: release-check
release-check: image ## build a release's parts, and try the image if root
	PLIMSOLL=bin/plimsoll deploy/build/extras build/extras
	@deploy/image/try bin/plimsoll.tar || [ $$? -eq 77 ]

.PHONY: snapshot
snapshot: ## build a complete trial release in dist/; takes minutes
	$(GO) tool -modfile=tools/release/go.mod goreleaser release --snapshot --clean
	deploy/build/krew dist > dist/plimsoll.krew.yaml

.PHONY: release
release: ## build the release of the checked out tag in dist/
	GOTOOLCHAIN=$(RELEASE_GO) $(GO) tool -modfile=tools/release/go.mod goreleaser release --clean
	deploy/build/krew dist > dist/plimsoll.krew.yaml

.PHONY: check
check: deps test ## install what the tests need (as root on Debian), then test

# Packages that are compiled and tested at once: twice the cores, since many tests wait for a server, a
# device or a signal.
ATONCE := $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))

# How many tests may skip; CI sets it. Any number elsewhere: what is not installed skips.
SKIPS ?= -1

.PHONY: test
test: ## run all tests, and list why tests skipped; make lint has go vet's checks
	@# A pipe hides how go test ended, so a failure is written into it.
	{ CGO_ENABLED=0 $(GO) test -json -vet=off -timeout 20m -p $(ATONCE) $(TESTFLAGS) ./... || \
		echo '{"Action":"fail"}'; } | $(GO) run ./internal/check/skips -most $(SKIPS)

.PHONY: race
race: ## run the tests of what runs at once under the race detector (needs gcc)
	.ci/race

.PHONY: lint
lint: prose ## check formatting and words, and run the linters of .golangci.yml
	@unformatted="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
	if [ -n "$$unformatted" ]; then echo "not formatted (gofmt -w):" $$unformatted; exit 1; fi
	$(LINT) run ./...

.PHONY: prose
prose: ## look (with a C compiler) for words that CONTRIBUTING.md avoids, in documents, comments and messages
	$(GO) run ./internal/check/prose mirror build/prose
	CGO_ENABLED=1 $(GO) tool -modfile=tools/vale/go.mod vale --no-wrap --output=line $$(git ls-files '*.md') build/prose

.PHONY: fuzz
fuzz: ## run each fuzz target for FUZZTIME seconds (10)
	.ci/fuzz $(FUZZTIME)

.PHONY: hostile
hostile: ## 10,000 damaged inputs of each format, 200 tries of each hostile server, writer and moment; half an hour
	CI_FULL=1 $(GO) test -count=1 -timeout 60m -v ./internal/check/hostile
	CI_FULL=1 $(GO) test -count=1 -timeout 60m -v -run HostileAnswers ./internal/record/... ./internal/engine/...
	CI_FULL=1 $(GO) test -count=1 -timeout 90m -v ./cmd/plimsoll \
		-run 'Hostile|KilledWriters|FullDisks|OddTargets|TwoWriters|BlockedPipes|ClockJumps'

# Go's standard library has defects as well. A release is built with a version that has no known one, and the
# scan uses the same.
RELEASE_GO ?= go1.27.3

.PHONY: vuln
vuln: ## look with govulncheck for known vulnerabilities that a release can reach; needs the Go module proxy
	GOTOOLCHAIN=$(RELEASE_GO) .ci/vuln

.PHONY: bench
bench: ## run the benchmarks that need no idle machine; BENCH=regexp selects some
	$(GO) test -short -run '^$$' -bench '$(BENCH)' -benchmem ./...

.PHONY: screenshots
screenshots: build ## retake the README's screenshots (needs chromium-headless-shell)
	docs/img/make.sh bin/plimsoll

.PHONY: deps
deps: ## install engines and tools for the tests (as root on Debian)
	.ci/deps

.PHONY: ci
ci: ## run everything that must pass for a change, in order
	bash .ci/run

.PHONY: nulls
nulls: ## how often each rule is wrong by chance, for docs/research/accuracy-rules.md
	$(GO) test -count=1 -timeout 60m ./internal/judge/accuracy -run TestNulls -v -update

.PHONY: corpus
corpus: build ## score the diagnoses of published incidents; CORPUS_UNREAD=1 also lists the unread half
	@$(GO) run ./corpus

.PHONY: nightly
nightly: ## run everything that takes longer as well: fuzzing, other kernels, rollouts, captures; as root
	CI_FULL=1 bash .ci/run

.PHONY: clean
clean: ## remove everything that was built
	rm -rf bin build dist
