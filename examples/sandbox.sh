#!/bin/sh
# Runs Python once in a fresh microVM, which deletes itself a minute later. Needs TOKEN.
set -eu
: "${SERVER_URL:=http://localhost:4000}"

curl -sS --fail-with-body "$SERVER_URL/api/v1/vms/sandbox" \
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \
  -d '{"language": "python", "code": "print(sum(range(10)))", "ttl": 60}'
echo
