#!/bin/sh
# Builds an OCI image of the commit that is checked out, without a Docker engine: Debian by mmdebstrap, put together by buildah.
#   sh deploy/image/build.sh web    <file.tar>   the web and edge processes, which are no root
#   sh deploy/image/build.sh worker <file.tar>   the worker, with what VMs need
# As root, on a Debian with the packages mmdebstrap and buildah, after npm ci. Settings of this script:
#   MIRROR, SECURITY_MIRROR   where Debian comes from; without them, from where this host has it
# Beside the file it writes what the image holds: <file>.npm.json (CycloneDX) and <file>.debian.tsv.
set -eu

release=trixie
uid=10001 # of the user berth in the images, and in volumes
checkout=$(cd "$(dirname "$0")/../.." && pwd)

fail() {
  echo "$1" >&2
  exit "${2:-1}"
}

kind=${1:-}
file=${2:-}
case "$kind:$file" in
  web:?* | worker:?*) ;;
  *) fail 'sh deploy/image/build.sh web|worker <file.tar>: builds the image into this file.' 2 ;;
esac
file=$(cd "$(dirname "$file")" && pwd)/$(basename "$file")
[ "$(id -u)" = 0 ] || fail 'Only root may unpack a Debian with its owners. Run this with sudo.'
for program in mmdebstrap buildah git; do
  command -v "$program" >/dev/null || fail "$program is missing. Run: apt-get install mmdebstrap buildah git"
done
[ ! -e "$file" ] || fail "$file is there already. Remove it, or name another file."
cd "$checkout"
[ -z "$(git status --porcelain -- . ':!test')" ] ||
  fail 'The checkout has changes that are not committed, and the image is made of a commit. Commit them, or put them aside.'

# Where this host has Debian from, of a release that it need not be.
mirrors() {
  main=${MIRROR:-$(apt-get indextargets --format '$(LABEL)	$(REPO_URI)' | sed -n 's/^Debian	\(http.*[^/]\)\/*$/\1/p' | head -n 1)}
  [ -n "$main" ] || fail 'This host has no mirror of Debian. Set MIRROR to one.'
  printf 'deb %s %s main\ndeb %s %s-updates main\n' "$main" "$release" "$main" "$release"
  printf 'deb %s %s-security main\n' "${SECURITY_MIRROR:-$main-security}" "$release"
}

packages=ca-certificates,libatomic1,libstdc++6,tini
case "$kind:$(dpkg --print-architecture)" in
  worker:arm64) qemu=qemu-system-arm ;;
  *) qemu=qemu-system-x86 ;;
esac
[ "$kind" = web ] || packages=$packages,$qemu,qemu-utils,mmdebstrap,busybox-static,cpio,xz-utils,e2fsprogs,util-linux

work=$(mktemp -d "${TMPDIR:-/var/tmp}/berth-image.XXXXXX")
chmod 755 "$work"
container=
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot # what works in a container, too
store="--root $work/store --runroot $work/run"
# shellcheck disable=SC2086 # the words of $store are separate
clean() {
  [ -z "$container" ] || buildah $store rm "$container" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

echo "Debian $release"
# The mirror stays out of the image: the worker builds templates from Debian's own one, unless it is told another.
mirrors | mmdebstrap --mode=root --variant=minbase --format=tar --quiet \
  --include="$packages" \
  --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook="chroot \"\$1\" groupadd --gid $uid berth" \
  --customize-hook="chroot \"\$1\" useradd --uid $uid --gid $uid --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin berth" \
  --customize-hook='rm -rf "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/var/log/* "$1"/var/cache/ldconfig/*' \
  --customize-hook="dpkg-query --admindir=\"\$1/var/lib/dpkg\" -W -f '\${Package}\t\${Version}\t\${Architecture}\n' > '$file.debian.tsv'" \
  "$release" "$work/debian.tar" -

echo 'Berth and its packages'
app=$work/app/opt/berth
mkdir -p "$app"
git archive HEAD -- . ':!test' ':!.ci' ':!.github' | tar -x -C "$app"
node=$(sh src/start/node.sh -p process.execPath)
npm="$node $checkout/node_modules/npm/bin/npm-cli.js"
# Optional packages are Node and Postgres for `npm start`, and what builds the console: the image has the first and the last already.
# shellcheck disable=SC2086 # a program and its argument
(cd "$app" && $npm ci --omit=dev --omit=optional --ignore-scripts && $npm sbom --omit=dev --omit=optional --sbom-format=cyclonedx --package-lock-only >"$file.npm.json")
rm -rf "$app/node_modules/.package-lock.json" "$app/node_modules/npm/docs" "$app/node_modules/npm/man"
install -D -m 755 "$node" "$work/app/usr/local/bin/node"
install -D -m 644 "$file.npm.json" "$work/app/usr/share/sbom/npm.json"
install -D -m 644 "$file.debian.tsv" "$work/app/usr/share/sbom/debian.tsv"

echo 'The console'
BERTH_CACHE_DIR=$work/app/var/cache/berth sh src/start/node.sh src/console/build.ts

# The folders that the processes share in a volume, as deploy/systemd/berth.tmpfiles.conf makes them on a host.
sed -n 's/^d \([^ ]*\) *\([0-7]*\) *\([a-z]*\) *\([a-z]*\)$/\1 \2 \3 \4/p' deploy/systemd/berth.tmpfiles.conf |
  while read -r path mode owner group; do
    mkdir -p "$work/app$path"
    chmod "$mode" "$work/app$path"
    chown "$(echo "$owner:$group" | sed "s/berth/$uid/g")" "$work/app$path"
  done

echo 'The image'
# shellcheck disable=SC2086 # the words of $store are separate
{
  container=$(buildah $store from scratch)
  buildah $store add --quiet "$container" "$work/debian.tar" / >/dev/null
  tar -C "$work/app" --numeric-owner -cf "$work/app.tar" .
  buildah $store add --quiet "$container" "$work/app.tar" / >/dev/null
  [ "$kind" = worker ] || buildah $store config --user "$uid:$uid" "$container"
  buildah $store config --workingdir /opt/berth \
    --entrypoint '["/usr/bin/tini", "--", "/bin/sh", "/opt/berth/deploy/image/run.sh"]' --cmd "$kind" --stop-signal SIGTERM \
    --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --env BERTH_DATA_DIR=/var/lib/berth/data --env BERTH_CACHE_DIR=/var/cache/berth --env BERTH_HOST=0.0.0.0 \
    --env BERTH_LOCAL_SIGN_IN=off --env BERTH_LOG_FORMAT=json --env NODE_COMPILE_CACHE= \
    --label org.opencontainers.image.title="Berth ($kind)" --label org.opencontainers.image.licenses=Apache-2.0 \
    --label org.opencontainers.image.revision="$(git rev-parse HEAD)" "$container"
  buildah $store commit --quiet --format oci --disable-compression=false --timestamp "$SOURCE_DATE_EPOCH" \
    "$container" "oci-archive:$file:berth-$kind:latest" >/dev/null
}
echo "$file: $(($(stat -c %s "$file") / 1000000)) MB"
