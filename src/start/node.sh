#!/bin/sh
# Runs a command of Berth on the Node that npm ci installed: sh src/start/node.sh src/start.ts …
# Needed because that Node cannot say itself what it lacks: on a minimal Debian it does not even load without
# libatomic1, and where its package was left out, an older `node` would only answer with a stack trace.
# package.json says `exec` before it, and it says so itself: npm passes signals on to its own child only, which would
# be a shell that ends and leaves Node behind.
wanted=26
checkout=$(cd "$(dirname "$0")/../.." && pwd)
export PATH="$checkout/node_modules/.bin:$PATH" # npm does so too; a plain shell may have an older Node

works() { node --version >/dev/null 2>&1; }

if ! works && node --version 2>&1 | grep -q libatomic; then
  install='apt-get install -y --no-install-recommends libatomic1'
  if [ "$(id -u)" = 0 ] && [ -x /usr/bin/apt-get ]; then
    echo "Installing the Debian package that Node $wanted needs: libatomic1" >&2
    export DEBIAN_FRONTEND=noninteractive
    # Without package lists, or with old ones, the first try finds nothing.
    $install >/dev/null 2>&1 || { apt-get update >/dev/null 2>&1; $install >/dev/null; }
  else
    echo "Node $wanted needs the library libatomic. On Debian run \`sudo $install\`, then try again." >&2
    exit 1
  fi
fi
if ! works; then
  node --version >&2
  echo "Node does not run here; the line above says why." >&2
  exit 1
fi
version=$(node --version)
major=${version#v}
if [ "${major%%.*}" -lt "$wanted" ]; then
  echo "Berth runs on Node $wanted or newer, and this is Node ${version#v}. Run npm ci (with optional packages, on Linux on x64 or arm64), then npm start." >&2
  exit 1
fi
# Compiled code is kept between starts, which makes them a third shorter, also that of a process that comes back after a crash.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE-$checkout/node_modules/.cache/node-compile}"
exec node "$@"
