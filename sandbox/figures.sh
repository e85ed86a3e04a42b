#!/bin/sh
# figures.sh [--packages | --cold]: print the figures of README.md, as measured on this machine.
# --packages prints only how many packages a first `make build` compiles.
# --cold first builds what `make build` does with an empty build cache, which takes minutes and 4 GB. The modules are downloaded before.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

now() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f s", b - a }'; }
rss() { awk '/^VmRSS/ { printf "%d MiB", $2 / 1024 }' "/proc/$pid/status"; }

# start DIR: run until the line is there, and put it into $line.
start() {
	mkfifo "$work/line"
	"$work/bin/truce-sandbox" --dir "$1" --exit-with-parent >"$work/line" &
	pid=$!
	read -r line <"$work/line"
	rm "$work/line"
}
stop() {
	began=$(now)
	kill "$pid"
	wait "$pid"
	pid=
	stopped=$(since "$began")
}

# CPU seconds of what has ended so far; times tells of this shell alone, so it must not run in another.
cpu() { times >"$work/times"; awk -F'[ms ]+' 'NR == 2 { print $1 * 60 + $2 + $3 * 60 + $4 }' "$work/times"; }

# packages MODULE PROGRAM: what a program is compiled from, each package with the version of its module.
packages() { go -C "$1" list -deps -f '{{.ImportPath}} {{with .Module}}{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}{{end}}' "$2"; }

export GOFLAGS="-trimpath -buildvcs=false -tags=kustomize_disable_go_plugin_support"
for of in ". ./cmd/truce-sandbox" ". ./cmd/kubectl" ".. ./cmd/truce"; do
	packages $of | sort >"$work/packages"
	printf '%-20s %d packages\n' "${of##*/}:" "$(wc -l <"$work/packages")"
	cat "$work/packages" >>"$work/all"
done
echo "all three:           $(sort -u "$work/all" | wc -l) packages"
[ "${1:-}" != --packages ] || exit 0
if [ "${1:-}" = --cold ]; then
	go mod download && go -C .. mod download
	export GOCACHE="$work/cache"
	cpu >"$work/before" && began=$(now)
	./build.sh "$work/bin"
	cpu >"$work/after"
	echo "build, empty cache:  $(since "$began"), $(paste "$work/before" "$work/after" | awk '{ print int($2 - $1) }') s of CPU: truce-sandbox, kubectl"
	cpu >"$work/before" && began=$(now)
	GOGC=400 GOMEMLIMIT=3GiB go -C .. build -ldflags '-s -w' -o "$work/bin/truce" ./cmd/truce
	cpu >"$work/after"
	echo "    and then:        $(since "$began"), $(paste "$work/before" "$work/after" | awk '{ print int($2 - $1) }') s of CPU: truce"
	unset GOCACHE
	chmod -R u+w "$work/cache" && rm -rf "$work/cache"
fi
./build.sh "$work/bin"
began=$(now)
./build.sh "$work/bin"
echo "build, no change:    $(since "$began")"
for program in truce-sandbox kubectl; do
	printf '%-20s %d MB\n' "$program:" $(($(wc -c <"$work/bin/$program") / 1000000))
done
for run in 1 2 3; do
	start "$work/data$run"
	fresh=${line##*took=} first=$(rss)
	sleep 10
	idle=$(rss)
	stop
	fresh_stop=$stopped
	start "$work/data$run"
	echo "start $run:             $fresh fresh, ${line##*took=} again; RSS $first at ready, $idle after 10 s; ended in $fresh_stop"
	stop
done
echo "directory:           $(du -sm "$work/data1" | cut -f1) MB"
echo "machine:             $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $(go version | cut -d' ' -f3)"
