#!/bin/sh
# Runs govulncheck. The vulnerability database is taken from the Go module proxy
# (module golang.org/x/vulndb), which every machine that can build this can reach.
# A database that cannot be had is said so and passes; a vulnerability fails.
set -eu
cd "$(dirname "$0")/.."
mkdir -p .cache
root=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

unavailable() {
	echo "govulncheck: NOT RUN: $1" >&2
	[ ! -s "$tmp/err" ] || sed 's/^/  /' "$tmp/err" >&2
	exit 0
}

# In a module of its own, so that this one's go.mod stays as it is.
cd "$tmp"
printf 'module vulndb.invalid\n\ngo 1.27\n' >go.mod
go mod download -json golang.org/x/vulndb@latest >info.json 2>err ||
	unavailable "golang.org/x/vulndb could not be downloaded"
dir=$(sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p' info.json)
version=$(sed -n 's/^[[:space:]]*"Version": "\(.*\)",\{0,1\}$/\1/p' info.json)
[ -d "$dir/data/osv" ] || unavailable "golang.org/x/vulndb $version holds no data/osv"

db=$root/.cache/vulndb-$version
if [ ! -d "$db" ]; then
	(cd "$dir" && go build -o "$tmp/indexdb" ./cmd/indexdb) 2>err ||
		unavailable "the database's indexer could not be built"
	"$tmp/indexdb" -vulns "$dir/data/osv" -out "$tmp/db" 2>err ||
		unavailable "the database could not be indexed"
	rm -rf "$root"/.cache/vulndb-*
	mv "$tmp/db" "$db"
fi

cd "$root"
echo "govulncheck: database $version"
go tool -modfile=tools/go.mod govulncheck -db "file://$db" ./...
