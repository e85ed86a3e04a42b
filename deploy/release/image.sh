#!/usr/bin/env bash
# image compiles truce for a container and writes the image as an OCI layout, without a daemon. It prints the digest. `make image` calls it.
#
#   deploy/release/image.sh DIRECTORY VERSION
set -euo pipefail
cd "$(dirname "$0")/../.."
export GOFLAGS="-trimpath -buildvcs=false -tags=kustomize_disable_go_plugin_support" # as in the Makefile
mkdir -p "$1"
dir=$(cd "$1" && pwd) version=$2
rm -rf "$dir/layout"
CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -ldflags "-s -w -X main.version=$version" -o "$dir/truce" ./cmd/truce
go run -C deploy/release ./image -truce "$dir/truce" -version "$version" -layout "$dir/layout" \
	-created "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" ${ROOT:+-root "$ROOT"}
