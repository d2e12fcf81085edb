#!/usr/bin/env bash
# What `make lint` checks of the Go client.
set -euo pipefail
cd "$(dirname "$0")"
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
    echo "not formatted; run gofmt -w: $unformatted"
    exit 1
fi
go vet ./...
go mod tidy -diff
