# Makes the cluster that every database starts from, inside the template. It has no passwords: each database gets its own.
folder=/var/lib/postgresql
bin=/usr/lib/postgresql/17/bin
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
cd /
rm -rf $folder /etc/postgresql/17
install -d -o postgres -g postgres -m 700 $folder $folder/data
install -d -o postgres -g postgres -m 755 /run/postgresql
# Segments of 1 MB, so that a new database's disk is small.
as_postgres $bin/initdb -D $folder/data --no-sync --wal-segsize=1 --data-checksums --encoding=UTF8 --locale=C \
  --locale-provider=builtin --builtin-locale=C.UTF-8
# The configuration is the template's, so that a newer template brings a newer one.
rm $folder/data/postgresql.conf $folder/data/pg_hba.conf $folder/data/pg_ident.conf
as_postgres $bin/pg_ctl -D $folder/data -s -w start -l $folder/log \
  -o "-c config_file=/etc/postgresql/postgresql.conf -c listen_addresses= -c fsync=off -c dynamic_shared_memory_type=mmap" ||
  { cat $folder/log; exit 1; }
as_postgres psql -X -q -v ON_ERROR_STOP=1 -d postgres -f - < /etc/postgresql/cluster.sql
as_postgres $bin/pg_ctl -D $folder/data -s -w stop -m fast
rm $folder/log
