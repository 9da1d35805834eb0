#!/bin/sh
# Turns a freshly unpacked Debian into the template `postgres`. mmdebstrap runs it as its hook, as root of the folder $1.
# Reads: GUEST (this folder), BASE (the one of `base`, whose start of a guest is used here too), PROGRAM (the guest's
# program, as `base` has it), IMAGE_SIZE and DATA_SIZE. Writes base.img, and folder.img with the cluster, into OUT.
set -eu
root=$1
say() { echo "berth: $1" >&2; }

say "setting up the guest"
mkdir -p "$root/usr/lib/berth" "$root/var/lib/berth/processes"
install -m 755 "$PROGRAM" "$root/usr/lib/berth/berth"
install -m 755 "$BASE/files/usr/lib/berth/boot" "$root/usr/lib/berth/boot"
cp -r "$GUEST/files/." "$root/"
for name in boot-data postgres stop warm; do chmod 755 "$root/usr/lib/berth/$name"; done
tr '\n' '\0' < "$GUEST/files/usr/lib/berth/env" > "$root/usr/lib/berth/env"
chroot "$root" sh -eu <<'INSIDE'
rm -rf /etc/apt/apt.conf.d/99mmdebstrap /etc/apt/sources.list /etc/apt/sources.list.d/0000sources.list
chmod 700 /var/lib/berth /var/lib/berth/processes
echo /usr/lib/berth/berth >> /etc/shells
sed -i 's,^root:.*,root:x:0:0:root:/root:/usr/lib/berth/berth,' /etc/passwd
sed -i 's,^root:[^:]*,root:*,' /etc/shadow
ln -sf /bin/busybox /sbin/init
for name in poweroff halt reboot; do ln -sf /bin/busybox /sbin/$name; done
for name in machine-id hostname hosts; do ln -sf /run/berth/$name /etc/$name; done
: > /etc/resolv.conf
# What reads files, opens connections or runs programs on behalf of a role is not there, whoever may create extensions.
for name in adminpack basebackup_to_shell basic_archive dblink file_fdw pageinspect pg_surgery postgres_fdw; do
  rm -f /usr/share/postgresql/17/extension/"$name"[.-]* /usr/lib/postgresql/17/lib/"$name".so
done
rm -f /usr/share/postgresql/17/extension/*plperl* /usr/share/postgresql/17/extension/*plpython* /usr/share/postgresql/17/extension/pltcl*
INSIDE

# Debian leaves these to superusers, whom nobody gets to be here; neither reads files or runs code of its user.
extensions="$root/usr/share/postgresql/17/extension"
for name in vector pg_stat_statements; do echo 'trusted = true' >> "$extensions/$name.control"; done
# Clients of one kind share a role, and are not to see what others ask: owners, who read all statistics, see it.
cat >> "$extensions/pg_stat_statements--1.10--1.11.sql" <<'SQL'

REVOKE ALL ON pg_stat_statements, pg_stat_statements_info FROM PUBLIC;
REVOKE ALL ON FUNCTION pg_stat_statements(boolean), pg_stat_statements_info() FROM PUBLIC;
GRANT SELECT ON pg_stat_statements, pg_stat_statements_info TO pg_read_all_stats;
GRANT EXECUTE ON FUNCTION pg_stat_statements(boolean), pg_stat_statements_info(),
  pg_stat_statements_reset(oid, oid, bigint, boolean) TO pg_read_all_stats;
SQL

say "making the cluster"
chroot "$root" sh -eu < "$GUEST/make-cluster.sh" > "$OUT/cluster.log" 2>&1 || { cat "$OUT/cluster.log" >&2; exit 1; }
rm "$OUT/cluster.log"

say "making the disks"
chroot "$root" sh -c 'rm -rf /var/lib/dbus/machine-id /etc/ssl/private/ssl-cert-snakeoil.key /usr/share/doc /usr/share/man /usr/share/info /var/lib/apt/lists/* /var/cache/apt/*.bin /tmp/* /var/log/*'
owner=$(chroot "$root" stat -c %u:%g /var/lib/postgresql/data)
mv "$root/var/lib/postgresql" "$OUT/cluster"
mkdir "$root/var/lib/postgresql"
# Inside a mount of its own, so that what is mounted below the folder now does not end up on the disk.
mkdir "$OUT/tree"
mount --bind "$root" "$OUT/tree"
truncate -s "$IMAGE_SIZE" "$OUT/base.img"
truncate -s "$DATA_SIZE" "$OUT/folder.img"
mke2fs -q -F -t ext4 -m 1 -J size=16 -E lazy_itable_init=1,lazy_journal_init=1 -d "$OUT/tree" "$OUT/base.img"
umount "$OUT/tree"
rmdir "$OUT/tree"
mke2fs -q -F -t ext4 -m 0 -J size=64 -i 32768 -G 128 -E "lazy_itable_init=1,lazy_journal_init=1,root_owner=$owner" -d "$OUT/cluster" "$OUT/folder.img"
rm -rf "$OUT/cluster"
chmod 444 "$OUT/base.img" "$OUT/folder.img"
