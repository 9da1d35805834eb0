#!/bin/sh
# Uploads a folder, builds it in a VM of its own, follows the log, and fetches the output. Needs TOKEN, curl, node and tar.
set -eu
: "${SERVER_URL:=http://localhost:4000}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Reads a JSON text from standard input, and prints what this expression makes of it.
pick() { node -e "process.stdout.write(String((it => $1)(JSON.parse(require('fs').readFileSync(0, 'utf8')))))"; }
call() { curl -sS --fail-with-body -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' "$@"; }

organization=$(call "$SERVER_URL/graphql" -d '{"query": "{ viewer { organizationId } }"}' | pick 'it.data.viewer.organizationId')

# The source: a signed address takes it without a token.
echo 'console.log("built on", process.version)' > "$folder/main.js"
tar -czf "$folder/source.tar.gz" -C "$folder" main.js
call "$SERVER_URL/api/v1/compute/uploads" -d "{\"organization_id\": \"$organization\"}" > "$folder/upload.json"
curl -sS --fail-with-body -T "$folder/source.tar.gz" -H 'Content-Type: application/octet-stream' "$(pick it.upload_url < "$folder/upload.json")"

# What to do with it.
spec=$(pick 'JSON.stringify({
  context: it.binary_url,
  commands: ["node main.js", "mkdir dist", "node main.js > dist/out.txt"],
  output: { type: "artifact", name: "hello", path: "dist" },
})' < "$folder/upload.json")
build=$(call "$SERVER_URL/api/v1/build/jobs" -d "{\"org_id\": \"$organization\", \"spec\": $spec}" | pick it.id)

# The log from its beginning; the stream ends with the build.
curl -sSN "$SERVER_URL/api/v1/build/jobs/$build/logs/stream?from=0" -H "Authorization: Bearer $TOKEN"

# The output, from a signed address.
url=$(call "$SERVER_URL/graphql" -d "{\"query\": \"{ build(id: \\\"$build\\\") { output { url } } }\"}" | pick 'it.data.build.output.url')
curl -sS --fail-with-body "$url" | tar -xzO ./out.txt
