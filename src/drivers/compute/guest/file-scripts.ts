/** The scripts by which a guest reads and writes what passes as a stream. They run as `user`, and trust nobody else. */

/** The scripts' exit codes besides success and what programs have of their own. */
export const codes = {
  absent: 20,
  folder: 21,
  system: 22,
  notFolder: 23,
  special: 24,
  busy: 25,
  ahead: 26,
  full: 27,
  other: 28,
  archive: 29,
  entry: 30,
  fullInside: 31,
  /** What SIGTERM makes: another upload has taken the place of this one. */
  ended: 143,
} as const

/** The beginning of the hidden file in which an upload arrives, beside what it will be. */
const partPrefix = '.berth-upload-'
const lockSeconds = 5
const complaintBytes = 2000

/** Ends when the path that was found is no place for files; /dev/shm is memory like /tmp. */
const refuseSystem = `case $PWD/ in /dev/shm/*) ;; /proc/*|/sys/*|/dev/*) exit ${codes.system} ;; esac`

/**
 * Says what is at a path, on a line: size, modification time, and what makes up the version. Then it waits for a line with
 * the first byte and the number of bytes, and sends those; without one it ends.
 */
export const readFileScript = `export LC_ALL=C
path=$1
if [ ! -e "$path" ]; then stat -L -- "$path" > /dev/null; exit ${codes.absent}; fi
[ -d "$path" ] && exit ${codes.folder}
[ -f "$path" ] || exit ${codes.special}
real=$(realpath -e -- "$path"; printf x)
case $real in /dev/shm/*) ;; /proc/*|/sys/*|/dev/*) exit ${codes.system} ;; esac
exec 3< "$path" || exit 1
stat -L -c '%s %.9Y %i' /proc/self/fd/3 || exit 1
read -r start length || exit 0
exec dd bs=128K iflag=skip_bytes,count_bytes skip="$start" count="$length" status=none <&3`

/**
 * The same for a folder as a tar archive whose entries are in a fixed order. Its size is that of the archive; its version
 * is a digest of every entry's kind, owner, mode, size, time and name. tar reads no content while its archive is /dev/null.
 */
export const readFolderScript = `export LC_ALL=C
set -o pipefail
path=$1
if [ ! -e "$path" ]; then stat -L -- "$path" > /dev/null; exit ${codes.absent}; fi
[ -d "$path" ] || exit ${codes.notFolder}
cd -P -- "$path" || exit 1
${refuseSystem}
archive() { tar --sort=name --format=gnu --exclude='./${partPrefix}*' --exclude='*/${partPrefix}*' --warning=no-file-ignored "$@" .; }
closed=$(find . -type f ! -readable -print -quit)
[ -z "$closed" ] || { printf '%s: Permission denied\\n' "$closed" >&2; exit 1; }
version=$(find . ! -name '${partPrefix}*' -printf '%y %U %G %m %s %T@ %n %P\\n%l\\0' | sort -z | sha256sum) || exit 1
size=$(archive --totals -cf /dev/null 2>&1) || { printf '%s\\n' "$size" >&2; exit 1; }
size=\${size##*written: }
printf '%s %s %s\\n' "\${size%% *}" "$(stat -c %.9Y .)" "\${version%% *}"
read -r start length || exit 0
archive -cf - | dd bs=128K iflag=fullblock,skip_bytes,count_bytes skip="$start" count="$length" status=none
ends=("\${PIPESTATUS[@]}")
[ "\${ends[1]}" = 0 ] || exit "\${ends[1]}"
case \${ends[0]} in 0|1|141) exit 0 ;; *) exit 1 ;; esac`

/**
 * Goes to the folder in which an upload to the path arrives, and sets: name, what it will be there ('.' for a folder); part,
 * the hidden file in which it arrives.
 */
const locate = `export LC_ALL=C
path=$1 format=$2 make=$3
complain() { printf '%s\\n' "$1" >&2; exit 1; }
if [ "$format" = tar ]; then
  [ -e "$path" ] && [ ! -d "$path" ] && exit ${codes.notFolder}
  [ -e "$path" ] || [ "$make" = no ] || mkdir -p -- "$path" || exit 1
  cd -P -- "$path" || exit 1
  name=.
else
  if [ -L "$path" ]; then
    real=$(readlink -f -- "$path" && printf x) || { stat -L -- "$path" > /dev/null; exit 1; }
    path=\${real%?x}
  fi
  [ -d "$path" ] && exit ${codes.folder}
  name=\${path##*/} parent=\${path%/*}
  [ -n "$name" ] || exit ${codes.folder}
  [ \${#name} -le 255 ] || complain 'File name too long'
  case $name in ${partPrefix}*) complain 'This name is for unfinished uploads' ;; esac
  [ -e "\${parent:-/}" ] || [ "$make" = no ] || mkdir -p -- "$parent" || exit 1
  cd -P -- "\${parent:-/}" || exit 1
  name=./$name
  [ -e "$name" ] && [ ! -f "$name" ] && exit ${codes.special}
  [ -e "$name" ] && [ ! -w "$name" ] && complain 'Permission denied'
fi
${refuseSystem}
digest=$(printf %s "$name" | sha1sum)
part=./${partPrefix}\${digest:0:16}
lock() {
  flock -w 1 3 || { endOthers; flock -w ${lockSeconds} 3; } || exit ${codes.busy}
  [ "$part" -ef /proc/self/fd/3 ]
}
# An upload that the guest never saw breaking off, such as when the VM was paused, would hold its lock for ever.
endOthers() {
  for fd in /proc/[0-9]*/fd/3; do
    pid=\${fd#/proc/} pid=\${pid%%/*}
    [ "$pid" = $$ ] || [ ! "$fd" -ef "$part" ] || kill "$pid"
  done 2> /dev/null
}`

/** Prints how much of an unfinished upload has arrived; nothing when there is none. Arguments: path, format, no. */
export const progressScript = `${locate}
[ ! -f "$part" ] || stat -c %s -- "$part"`

/**
 * Takes an upload from standard input into its hidden file, from an offset on, and prints how much has arrived in all. Only
 * one at a time does: a lock on the file says so, and whoever gets it looks whether the file still has that name.
 * Arguments: path, format, yes, offset, size of the whole or nothing.
 */
export const receiveScript = `${locate}
offset=$4 total=$5
find . -maxdepth 1 -name '${partPrefix}*' -user "$(id -u)" -mmin +"$6" -delete 2> /dev/null
for try in 1 2 3; do
  had=0
  [ -f "$part" ] && had=$(stat -c %s -- "$part")
  if [ "$offset" -gt "$had" ]; then echo "$had"; exit ${codes.ahead}; fi
  exec 3>> "$part" || exit 1
  lock && break
  [ "$try" = 3 ] && exit ${codes.busy}
done
had=$(stat -c %s -- "$part")
if [ "$offset" -gt "$had" ]; then echo "$had"; exit ${codes.ahead}; fi
truncate -s "$offset" -- "$part" || exit 1
read -r blocks blockSize <<< "$(stat -f -c '%a %S' .)"
if [ -n "$total" ] && [ $((total - offset)) -gt $((blocks * blockSize)) ]; then
  [ "$offset" != 0 ] || rm -f -- "$part"
  exit ${codes.full}
fi
if ! output=$(cat 2>&1 >&3); then
  case $output in *'No space left'*|*'quota exceeded'*) rm -f -- "$part"; exit ${codes.full} ;; esac
  complain "$output"
fi
stat -c %s -- "$part"`

/**
 * Makes a complete upload what it is to be: the file of that name, with the mode of the one before it, or the content of the
 * folder. Arguments: path, format, yes, size.
 */
export const finishScript = `${locate}
[ -f "$part" ] || exit ${codes.other}
exec 3>> "$part" || exit 1
lock || exit ${codes.other}
[ "$(stat -c %s -- "$part")" = "$4" ] || exit ${codes.other}
if [ "$format" = tar ]; then
  tar -tf "$part" > /dev/null || { rm -f -- "$part"; exit ${codes.archive}; }
  output=$(set -o pipefail; tar --no-overwrite-dir -xf "$part" 2>&1 | { grep -av 'tar: Removing leading' | head -c ${complaintBytes}; cat > /dev/null; })
  code=$?
  rm -f -- "$part"
  case $code/$output in 0/*) exit 0 ;; *'No space left'*|*'quota exceeded'*|*'Wrote only'*) exit ${codes.fullInside} ;; esac
  printf '%s\n' "\${output%%$'\n'*}" >&2
  exit ${codes.entry}
fi
[ ! -e "$name" ] || chmod --reference="$name" -- "$part" || exit 1
sync -- "$part" && mv -fT -- "$part" "$name" && sync -- .`
