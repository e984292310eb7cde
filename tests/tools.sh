#!/bin/bash
# Installs what the tests need beside Go, git and make, when it may: as root on
# Debian. Elsewhere it names what is missing, and the tests that need it say SKIP.
set -euo pipefail

# tool it brings : Debian packages
tools=(
	"cc:gcc libc6-dev"            # go test -race
	"systemd-analyze:systemd"     # unit files
	"strace:strace"               # faults at the Nth system call
	"unshare:util-linux"          # disks that are full, other users
	"python3:python3"             # a second reader of the launchd plist
)

missing=() packages=()
for tool in "${tools[@]}"; do
	if ! command -v "${tool%%:*}" >/dev/null; then
		missing+=("${tool%%:*}")
		read -ra more <<<"${tool#*:}"
		packages+=("${more[@]}")
	fi
done
# PostgreSQL's server is in no directory of PATH. The tests make clusters of their
# own; what the package starts by itself is not used.
if ! compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null && ! command -v postgres >/dev/null; then
	missing+=("postgres")
	packages+=("postgresql")
fi
if [ ${#missing[@]} -eq 0 ]; then
	exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing ${packages[*]}"
	export DEBIAN_FRONTEND=noninteractive
	if apt-get update -qq && apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null; then
		exit 0
	fi
	echo "apt-get could not install them" >&2
fi
echo "missing: ${missing[*]}. On Debian: apt-get install ${packages[*]}" >&2
