#!/bin/sh
# figures.sh [--cold]: print the figures of README.md, as measured on this machine.
# --cold first builds with an empty build cache, which takes minutes and 4 GB.
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

if [ "${1:-}" = --cold ]; then
	began=$(now)
	GOCACHE="$work/cache" ./build.sh "$work/bin"
	echo "build, empty cache:  $(since "$began")"
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
