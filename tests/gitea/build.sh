#!/bin/sh
# Builds a real forge from the module proxy into the directory $1, which then
# holds the program (gitea) and what it reads at run time (src).
set -eu
version=v1.26.0 # later ones do not build from the proxy
dir=$1
mkdir -p "$dir"
module=$(go mod download -json "code.gitea.io/gitea@$version" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
rm -rf "$dir/src"
cp -R "$module" "$dir/src"
chmod -R u+w "$dir/src"
cd "$dir/src"
CGO_ENABLED=1 go build -tags 'sqlite sqlite_unlock_notify' -trimpath -ldflags "-s -w -X main.Version=${version#v}" -o ../gitea.new .
mv ../gitea.new ../gitea
