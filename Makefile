# Needs Go, git, make and gcc; nothing else. One flag set, or the caches of build, vet and test would not be shared.
export GOFLAGS := -trimpath -buildvcs=false
SHELL   := bash -o pipefail
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Packages with concurrency are tested under the race detector, the others without: it compiles everything once more.
RACE := (internal/(act|controller|journal|kubetest|live|notify|reconcile|render/worker|source/git|web|wire)|stories)(/|$$)
RACY  = $(shell go list ./... | grep -E '$(RACE)')
CALM  = $(shell go list ./... | grep -vE '$(RACE)')
COUNT ?= 3

.PHONY: build run demo-fight test test-long check golden bench fuzz gen
build: # bin/truce, bin/truce-sandbox, bin/kubectl; the last two are built once (about 5 min on 2 cores) and then left alone
	sandbox/build.sh bin
	go build -ldflags "-X main.version=$(VERSION)" -o bin/truce ./cmd/truce

run: build # a cluster, the demo repository, and truce between them; Ctrl-C ends everything
	bin/truce up --tour

demo-fight: build # the same without the truce: the fault that we cure
	bin/truce up --tour --claims=off

test: build # every story in its short form; at most two packages, and so two sandboxes, at once
	go test -p 2 -short -skip '^TestLong' -timeout 40m $(CALM)
	go test -p 2 -short -skip '^TestLong' -timeout 40m -race $(filter-out %/stories,$(RACY))
	.ci/stories -test.short
	go -C sandbox test -p 2 -short -skip '^TestLong' -timeout 40m ./...

test-long: build # the stories that count and wait, in full
	go test -p 2 -timeout 60m -run '^TestLong' ./...
	go -C sandbox test -p 2 -timeout 60m -run '^TestLong' ./...

check: # format, vet, linters, the plan of the house, generated files, scripts, tidiness
	.ci/check

golden: # write anew what the stages say; read the difference before you commit it
	go test $$(grep -rl --include='*_test.go' 'truce/internal/golden"' internal | xargs -n 1 dirname | sort -u | sed 's,^,./,') -update

bench: # against bench/baseline.txt; about 10 min on a quiet machine of 2 cores
	go -C bench test -run '^$$' -bench . -count $(COUNT) -timeout 60m ./... | tee bench/new.out
	go tool -modfile=tools/go.mod benchstat bench/baseline.txt bench/new.out

fuzz: # 30 s for each target
	.ci/fuzz 30s

gen: # CRDs and generated pages
	go generate ./...
