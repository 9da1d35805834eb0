#!/bin/sh
# Turns a freshly unpacked Debian into the template `data`: what it has beyond `base`, then all that `base` is. mmdebstrap
# runs it as its hook, as root of the folder $1. Reads: GUEST (the folder of `base`), and what the build of `base` reads.
set -eu
root=$1

# matplotlib lists the fonts when it is first used, which takes seconds: once here for both users instead.
echo "berth: listing the fonts" >&2
chroot "$root" sh -eu <<'INSIDE'
mkdir -p /home/user
for home in /root /home/user; do HOME=$home python3 -c 'import matplotlib.font_manager'; done
chown -R 1000:1000 /home/user
INSIDE

exec sh "$GUEST/build.sh" "$root"
