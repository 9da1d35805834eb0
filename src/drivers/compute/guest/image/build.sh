#!/bin/sh
# Turns a freshly unpacked Debian into the template. mmdebstrap runs it as its hook, as root of the folder $1.
# Reads: GUEST (this folder), NODE (the node program), NPM (the npm package), CERTIFICATES (a folder of extra authorities),
# KERNEL (the kernel's package), BUSYBOX (a static one), IMAGE_SIZE. Writes base.img, kernel, initramfs, folder.img and lend.so
# (which is for this host, see host/lend.c) into OUT.
set -eu
root=$1
say() { echo "berth: $1" >&2; }

say "copying Node and npm"
install -m 755 "$NODE" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules"
cp -r "$NPM" "$root/usr/local/lib/node_modules/npm"
chown -R root:root "$root/usr/local/lib/node_modules"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"

say "compiling the guest's program"
work="$root/tmp/berth"
mkdir "$work"
cp "$GUEST"/*.c "$GUEST"/*.h "$work"
cp -r "$GUEST/host" "$work"
chroot "$root" sh -eu <<'INSIDE'
cd /tmp/berth
chmod 777 .
apt-get -qq download tcc musl-dev
for package in ./*.deb; do dpkg -x "$package" tools; done
musl=$(echo tools/usr/lib/*-linux-musl)
triple=$(basename "$musl")
own=$(echo tools/usr/lib/*/tcc)
mkdir -p /usr/lib/berth
tools/usr/bin/tcc -B"$own" -nostdinc -I"tools/usr/include/$triple" -I"$own/include" -static -nostdlib -o /usr/lib/berth/berth \
  "$musl/crt1.o" "$musl/crti.o" ./*.c "$musl/libc.a" "$own/libtcc1.a" "$musl/crtn.o"
tools/usr/bin/tcc -B"$own" -nostdinc -shared -nostdlib -o lend.so host/lend.c
INSIDE
cp "$work/lend.so" "$OUT/lend.so"

say "unpacking the kernel"
chroot "$root" sh -eu <<INSIDE
cd /tmp/berth
real=\$(apt-cache depends "$KERNEL" | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
apt-get -qq download "\$real"
dpkg -x ./linux-image-*.deb kernel
INSIDE
cp "$work"/kernel/boot/vmlinuz-* "$OUT/kernel"
mkdir -p "$work/initramfs/bin" "$work/initramfs/dev" "$work/initramfs/proc" "$work/initramfs/root" "$work/initramfs/modules"
install -m 755 "$BUSYBOX" "$work/initramfs/bin/busybox"
install -m 755 "$GUEST/initramfs-init" "$work/initramfs/init"
number=10
# In this order, or the disk never appears; what the kernel has built in is not there as a file.
for name in virtio_ring virtio virtio_mmio virtio_blk failover net_failover virtio_net virtio-rng; do
  file=$(find "$work/kernel" -name "$name.ko*" | head -n 1)
  number=$((number + 1))
  case $file in
    *.xz) xz -dc "$file" > "$work/initramfs/modules/$number-$name.ko" ;;
    *.ko) cp "$file" "$work/initramfs/modules/$number-$name.ko" ;;
  esac
done
(cd "$work/initramfs" && find . | cpio -o -H newc --quiet | gzip -9) > "$OUT/initramfs"

say "setting up the guest"
rm -rf "$work"
cp -r "$GUEST/files/." "$root/"
chmod 755 "$root/usr/lib/berth/boot" "$root/usr/lib/berth/warm"
chmod 440 "$root/etc/sudoers.d/user"
tr '\n' '\0' < "$GUEST/files/usr/lib/berth/env" > "$root/usr/lib/berth/env"
cp "$CERTIFICATES"/*.crt "$root/usr/local/share/ca-certificates/" 2> /dev/null || true
chroot "$root" sh -eu <<'INSIDE'
update-ca-certificates > /dev/null 2>&1
rm -f /usr/lib/python3*/EXTERNALLY-MANAGED /etc/apt/apt.conf.d/99mmdebstrap /etc/apt/sources.list /etc/apt/sources.list.d/0000sources.list
useradd --uid 1000 --user-group --create-home --skel /nonexistent --shell /bin/bash user
mkdir -p /home/user/workspace /var/lib/berth/processes
chown user:user /home/user /home/user/workspace
chmod 700 /var/lib/berth /var/lib/berth/processes
echo /usr/lib/berth/berth >> /etc/shells
sed -i 's,^root:.*,root:*:0:0:root:/root:/usr/lib/berth/berth,' /etc/passwd
sed -i 's,^root:[^:]*,root:*,' /etc/shadow
sed -i 's,^root:\*:,root:x:,' /etc/passwd
# Under emulation a statically linked bash starts in 12 ms, the other in 60.
dpkg-divert --local --quiet --rename --add /usr/bin/bash
cp /usr/bin/bash-static /usr/bin/bash
ln -sf /bin/busybox /sbin/init
for name in poweroff halt reboot; do ln -sf /bin/busybox /sbin/$name; done
for name in machine-id hostname hosts; do ln -sf /run/berth/$name /etc/$name; done
: > /etc/resolv.conf
rm -rf /var/lib/dbus/machine-id /usr/share/doc /usr/share/man /usr/share/info /var/lib/apt/lists/* /var/cache/apt/*.bin /tmp/* /var/log/*.log
INSIDE

say "warming Go's build cache"
cat > "$root/tmp/warm.go" <<'GO'
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

var _ = []any{bufio.NewReader, bytes.NewReader, json.Marshal, errors.New, io.Copy, math.Sqrt, os.Exit, sort.Ints, strconv.Itoa, strings.Split, sync.OnceFunc, time.Now}

func main() { fmt.Println("warm") }
GO
chroot "$root" su user -c 'cd /tmp && GOTOOLCHAIN=local go run warm.go' > /dev/null
rm -f "$root/tmp/warm.go"

say "making the disks"
# Inside a mount of its own, so that what is mounted below the folder now does not end up on the disk.
mkdir "$OUT/tree"
mount --bind "$root" "$OUT/tree"
truncate -s "$IMAGE_SIZE" "$OUT/base.img" "$OUT/folder.img"
mke2fs -q -F -t ext4 -m 1 -J size=64 -E lazy_itable_init=1,lazy_journal_init=1 -d "$OUT/tree" "$OUT/base.img"
umount "$OUT/tree"
rmdir "$OUT/tree"
# Every VM gets a copy of this one: without what growing needs, and with its tables together, it takes 1 MB instead of 6.
mke2fs -q -F -t ext4 -m 1 -J size=16 -i 32768 -O sparse_super2,^resize_inode -G 128 -E lazy_itable_init=1,lazy_journal_init=1,root_owner=1000:1000 "$OUT/folder.img"
debugfs -w -R 'rmdir lost+found' "$OUT/folder.img" > /dev/null 2>&1
chmod 444 "$OUT/base.img" "$OUT/folder.img" "$OUT/kernel" "$OUT/initramfs" "$OUT/lend.so"
