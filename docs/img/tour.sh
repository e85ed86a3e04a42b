#!/usr/bin/env bash
# tour.sh runs `truce up --tour` on a sandbox and writes a part of what it prints as docs/img/tour.svg. It needs `make build`.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
: >"$dir/out"
bin/truce up --tour --dir "$dir/up" >"$dir/out" 2>&1 &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$dir"' EXIT
for _ in {1..300}; do
	grep -q '^Try next' "$dir/out" && break
	kill -0 $pid || { cat "$dir/out" >&2; exit 1; }
	sleep 1
done

# The parts that are shown: from the first change on, without paths of this machine.
shown() {
	sed -n '/^A commit/,/^Try next/p' "$dir/out" |
		grep -vE '^Try next|^(Git says|Deployment) |\$ cd |\$ sed |revert|goodbye → |watching for|took it back|put back [0-9.]+|over time:|^ *to run' |
		sed 's/^  //; s/; to run [0-9].*//; s/   # cut$//' | cat -s |
		awk 'heading && $0 == "" { heading = 0; next } { heading = /^[A-Z$]/; print }'
}

# folded breaks a long line at its last space that fits, and indents the rest.
folded() {
	local line head
	while IFS= read -r line; do
		while [ ${#line} -gt $columns ]; do
			head=${line:0:columns} head=${head% *}
			[ ${#head} -gt 8 ] || break
			printf '%s\n' "$head"
			line="        ${line:${#head}+1}"
		done
		printf '%s\n' "$line"
	done
}

columns=116 step=18 y=30 lines=""
while IFS= read -r line; do
	case $line in
	'$ '*) class=command ;;
	[A-Z]*) class=heading ;;
	*'by truce'* | *'truce says'*) class=truce ;;
	*' Cede '* | *'in Git:'*) class=cede ;;
	'        '*) ;; # as the line before
	*) class=plain ;;
	esac
	line=${line//&/&amp;} line=${line//</&lt;}
	[ -z "$line" ] || lines+="<text class=\"$class\" x=\"20\" y=\"$y\">$line</text>"$'\n'
	y=$((y + step))
done < <(shown | folded)

cat >docs/img/tour.svg <<SVG
<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 960 $y" width="960" height="$y">
<!-- Written by docs/img/tour.sh from a run of make run. -->
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; white-space: pre; }
.plain { fill: #c9d1d9; } .command { fill: #ffffff; font-weight: bold; } .heading { fill: #79c0ff; font-weight: bold; }
.truce { fill: #7ee787; } .cede { fill: #f2cc60; }
</style>
<rect width="960" height="$y" rx="8" fill="#161b22"/>
$lines</svg>
SVG
