#!/usr/bin/env bash
# lock writes packages.txt: git, what it needs to fetch over HTTP, and the CA certificates, in the newest versions that Debian 12 has. Run it on
# Debian 12 (amd64) after `apt-get update`, read the difference, build the image and try it.
set -euo pipefail
packages=(
	git ca-certificates libbrotli1 libc6 libcom-err2 libcurl3-gnutls libffi8 libgcc-s1 libgmp10 libgnutls30 libgssapi-krb5-2 libhogweed6
	libidn2-0 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 libldap-2.5-0 libnettle8 libnghttp2-14 libp11-kit0 libpcre2-8-0 libpsl5
	librtmp1 libsasl2-2 libssh2-1 libssl3 libtasn1-6 libunistring2 libzstd1 zlib1g
)
{
	echo "# package, version, path in the archive, sha256; written by lock.sh"
	for p in "${packages[@]}"; do
		apt-cache show --no-all-versions "$p" | awk -v name="$p" '
			/^Version:/ { version = $2 } /^Filename:/ { path = $2 } /^SHA256:/ { sum = $2 }
			END { print name, version, (path ~ /^pool\/updates/ ? "debian-security/" : "debian/") path, sum }'
	done
} >"$(dirname "$0")/packages.txt"
