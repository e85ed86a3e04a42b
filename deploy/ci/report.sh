#!/usr/bin/env bash
# report.sh runs `truce audit` over a repository, and `truce diff` where asked, and tells a pull request of what they find.
#
# In, by the environment (the action sets it; none is needed):
#   TRUCE            the program (truce)
#   TRUCE_PATH       directory to audit (.)
#   TRUCE_FAIL_ON    least severity that fails: error, warning, info, never (error)
#   TRUCE_BASELINE   file of findings that are known (.truce-baseline.yaml where there is one)
#   TRUCE_DIALECT    only the apps of argocd or flux
#   TRUCE_SARIF      file to write SARIF to
#   TRUCE_DIFF       directory to hold against a cluster, or against TRUCE_LIVE, a file of live objects
#   TRUCE_TOKEN      a token that may write comments; without it nothing leaves this machine
#   TRUCE_PR         number of the pull request
#   GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_STEP_SUMMARY, GITHUB_ACTIONS: as GitHub sets them
# Out: Markdown in the job's summary, else on the standard output; annotations; one comment for each command, which later runs rewrite.
# Exit code: that of truce audit; if it is 0, that of truce diff.
set -uo pipefail

truce=${TRUCE:-truce}
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT

# show puts a page where people see it.
show() {
  if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then cat "$1" >>"$GITHUB_STEP_SUMMARY"; else cat "$1"; fi
}

# api asks GitHub. The token goes in by a file, so that no process list shows it.
api() { # METHOD PATH [BODY FILE]
  curl --silent --show-error --fail-with-body --max-time 30 --request "$1" --header @"$work/headers" \
    ${3:+--data-binary @"$3"} "${GITHUB_API_URL:-https://api.github.com}/repos/$GITHUB_REPOSITORY/issues/$2"
}

# comment writes a page to the pull request: over the one of an earlier run, which begins with the same line.
comment() {
  [ -n "${TRUCE_TOKEN:-}" ] && [ -n "${TRUCE_PR:-}" ] || return 0
  (umask 077; printf 'Authorization: Bearer %s\nAccept: application/vnd.github+json\n' "$TRUCE_TOKEN" >"$work/headers")
  jq -Rs '{body: .}' <"$1" >"$work/body.json" || return 1
  local mark id="" n=1
  mark=$(head -n 1 "$1")
  while [ -z "$id" ]; do
    api GET "$TRUCE_PR/comments?per_page=100&page=$n" >"$work/comments.json" || return 1
    id=$(jq -r --arg mark "$mark" 'map(select(.body | startswith($mark))) | .[0].id // empty' "$work/comments.json") || return 1
    [ "$(jq length "$work/comments.json")" -eq 100 ] || break
    n=$((n + 1))
  done
  if [ -n "$id" ]; then
    api PATCH "comments/$id" "$work/body.json" >/dev/null
  else
    api POST "$TRUCE_PR/comments" "$work/body.json" >/dev/null
  fi
}

# tell shows a page and comments; a comment that cannot be written is said, and fails nothing: the page is in the summary.
tell() {
  show "$1"
  comment "$1" || echo "truce: the comment could not be written" >&2
}

args=("${TRUCE_PATH:-.}" --fail-on "${TRUCE_FAIL_ON:-error}")
baseline=${TRUCE_BASELINE:-}
if [ -z "$baseline" ] && [ -f .truce-baseline.yaml ]; then baseline=.truce-baseline.yaml; fi
[ -z "$baseline" ] || args+=(--baseline "$baseline")
[ -z "${TRUCE_DIALECT:-}" ] || args+=(--dialect "$TRUCE_DIALECT")

"$truce" audit "${args[@]}" -o markdown >"$work/audit.md"
code=$?
if [ ! -s "$work/audit.md" ]; then exit "$code"; fi # it has said why
tell "$work/audit.md"
if [ -n "${GITHUB_ACTIONS:-}" ]; then "$truce" audit "${args[@]}" -o github; fi
if [ -n "${TRUCE_SARIF:-}" ]; then "$truce" audit "${args[@]}" -o sarif >"$TRUCE_SARIF"; fi

if [ -n "${TRUCE_DIFF:-}" ]; then
  "$truce" diff "$TRUCE_DIFF" ${TRUCE_LIVE:+--live "$TRUCE_LIVE"} -o markdown >"$work/diff.md"
  differs=$?
  if [ -s "$work/diff.md" ]; then tell "$work/diff.md"; fi
  if [ "$code" -eq 0 ]; then code=$differs; fi
fi
exit "$code"
