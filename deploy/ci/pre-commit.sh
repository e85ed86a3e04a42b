#!/usr/bin/env bash
# pre-commit.sh stops a commit that brings a conflict: for the pre-commit framework (.pre-commit-hooks.yaml), or as a hook of its own:
#   ln -s ../../path/to/pre-commit.sh .git/hooks/pre-commit
# What is in the working tree is audited. TRUCE, TRUCE_FAIL_ON and TRUCE_BASELINE mean what they mean for report.sh.
set -euo pipefail

cd "$(git rev-parse --show-toplevel)"
staged=$(git diff --cached --name-only --diff-filter=ACMRD)
if ! grep -qE '\.(ya?ml|json)$' <<<"$staged"; then exit 0; fi
args=(--fail-on "${TRUCE_FAIL_ON:-error}")
baseline=${TRUCE_BASELINE:-.truce-baseline.yaml}
if [ -n "${TRUCE_BASELINE:-}" ] || [ -f "$baseline" ]; then args+=(--baseline "$baseline"); fi
"${TRUCE:-truce}" audit . "${args[@]}" >&2
