# Needs Go, git, make and gcc; nothing else. One flag set, or caches would not be shared. The tag: a program that may load Go plugins (Kustomize) keeps all its code.
export GOFLAGS := -trimpath -buildvcs=false -tags=kustomize_disable_go_plugin_support
SHELL   := bash -o pipefail
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Packages with concurrency are tested under the race detector, the others without: it compiles everything once more. The stories, which
# cost it most, are run under it by test-long. They mostly wait, so that more of them run at once than there are cores.
RACE := (internal/(apply|controller|report/journal|testing/kubetest|cluster/live|report/notify|reconcile|render/worker|source/git|web|view|compose))(/|$$)
# Under it, the render workers of the commands on files take ten times as long, and one function there has goroutines.
CALM  = $(shell go list ./... | grep -vE '$(RACE)') ./internal/view/files
RACY  = $(filter-out %/internal/view/files,$(shell go list ./... | grep -E '$(RACE)'))
# The packages with stories that count and wait; of the other modules only deploy/release/image has one.
COUNTING = $(shell grep -rl --include='*_test.go' '^func TestLong' cmd internal stories | xargs -n 1 dirname | sort -u | sed 's,^,./,')
COUNT ?= 3
LONG  ?= ^TestLong
RACED ?= .
FAULTS ?= 500
SEED  ?= 1

.PHONY: build run demo-fight test test-calm test-racy test-sandbox test-release test-long test-counting test-raced check golden bench faults fuzz gen image
build: # bin/truce, bin/truce-sandbox, bin/kubectl; the last two are built once (sandbox/README.md says how long it takes) and then left alone
	sandbox/build.sh bin
	GOGC=400 GOMEMLIMIT=3GiB go build -ldflags "-s -w -X main.version=$(VERSION)" -o bin/truce ./cmd/truce

run: build # a cluster, the demo repository, and truce between them; Ctrl-C ends everything
	bin/truce up --tour

demo-fight: build ; bin/truce up --tour --claims=off # the same without the truce: the fault that we cure

test: build # every story in its short form; the longest first, and the others beside it: what is under the race detector, then the sandbox's
	$(MAKE) --no-print-directory -j2 test-calm test-racy test-sandbox test-release

# More packages at once than there are cores: at most four have a sandbox, and the others that need one wait (internal/testing/kubetest). `make check` vets.
test-calm test-racy:
	go test -vet=off -p 3 $(if $(filter %-calm,$@),-parallel 6 ./stories $(CALM),-race $(RACY)) -short -skip '^TestLong' -timeout 80m
test-sandbox: ; go -C sandbox test -vet=off -short -skip '^TestLong' -timeout 80m ./...
test-release: ; go -C deploy/release test -vet=off -short -skip '^TestLong' -timeout 80m ./...

test-long: build # the stories that count and wait, in full, and beside them all others under the race detector, with the permissions of an installation
	$(MAKE) --no-print-directory -j2 test-counting test-raced
test-counting:
	go test -vet=off -p 2 -parallel 8 -timeout 60m -run '$(LONG)' $(COUNTING)
	go -C deploy/release test -vet=off -timeout 60m -run '$(LONG)' ./image
test-raced: ; TRUCE_STORIES_ACCOUNT=installed go test -vet=off -parallel 6 -short -run '$(RACED)' -skip '^TestLong' -timeout 80m -race ./stories

check: ; .ci/check # format, linters with vet among them, the architecture, generated files, scripts, tidiness

golden: # write anew what the stages say; read the difference before you commit it
	go test $$(grep -rl --include='*_test.go' 'truce/internal/testing/golden"' internal | xargs -n 1 dirname | sort -u | sed 's,^,./,') -update

bench: # against bench/baseline.txt; about 10 min on a quiet machine of 2 cores
	go -C bench test -run '^$$' -bench . -count $(COUNT) -timeout 60m ./... | tee bench/new.out
	go tool -modfile=tools/go.mod benchstat bench/baseline.txt bench/new.out

faults: build # makes FAULTS trials more, those that were made least often first, and writes the ledger and docs/faults.md; may be ended at any time
	GOGC=400 go test ./stories -run '^TestLongFaults$$' -timeout 0 -parallel 24 -args -faults $(FAULTS) -faults.load 20 -faults.seed $(SEED) -faults.commit $$(git describe --always --dirty) \
		-faults.ledger testdata/faults -faults.page ../docs/faults.md

fuzz: ; .ci/fuzz 30s # for each target
gen: ; go generate ./... # CRDs, roles, install.yaml, the chart and generated pages
image: ; deploy/release/image.sh bin/image $(VERSION) # an OCI layout in bin/image/layout; prints its digest
