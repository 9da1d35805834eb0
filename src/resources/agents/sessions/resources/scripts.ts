/** What runs in a VM to put resources there, as `user`. Each may run again: a worker that died is followed by another one. */
import { refuseFunction } from '#src/resources/agents/tools/guest-scripts.ts'
import type { SessionResource } from './rows.ts'
import { placeholderOf } from './tokens.ts'

/** With this exit code, a script's output says what was there already, and was left as it is. */
export const keptCode = 21

/** Makes a folder that `user` may write, where there is none. */
const makeFolder = `${refuseFunction}make_folder() {
  [ -e "$1" ] || {
    top=$1; while up=$(dirname -- "$top"); [ ! -e "$up" ]; do top=$up; done
    mkdir -p -- "$1" 2> /dev/null || { sudo -n mkdir -p -- "$1" && sudo -n chown -R -- "$(id -u):$(id -g)" "$top"; } || refuse "The folder $1 could not be made."
  }
  [ -d "$1" ] && [ -w "$1" ] || refuse "$1 is not a folder that the user of the VM may write."
}
`

/** The folder above a file. */
export function folderScript(folder: string): string[] {
  return ['/bin/bash', '-c', `${makeFolder}make_folder "$1"`, 'folder', folder]
}

/**
 * Clones beside the path, and then moves the clone there, so that there is a whole one or none. Git asks for the
 * token by a placeholder, which only the way out of the VM replaces. Submodules are not followed: nobody checked their URLs.
 */
const clone = `${makeFolder}path=$1 url=$2 id=$3 kind=$4 ref=$5 secret=$6
folder=$(dirname -- "$path")
make_folder "$folder"
helper='!f() { test "$1" = get && printf "username=x-access-token\\npassword='$secret'\\n"; }; f'
if [ -e "$path" ] && [ -n "$(ls -A -- "$path" 2>&1)" ]; then
  owner=$(git -C "$path" config --local --get berth.resource 2> /dev/null)
  [ "$owner" = "$id" ] || { [ -e "$path/.git" ] && [ "$(git -C "$path" config --local --get remote.origin.url 2> /dev/null)" = "$url" ]; } || refuse "There is something else at $path already."
  git -C "$path" config --local berth.resource "$id" || refuse "The clone that is at $path already cannot be written."
  git -C "$path" config --local --unset-all "credential.$url.helper" 2> /dev/null
  [ -z "$secret" ] || git -C "$path" config --local "credential.$url.helper" "$helper"
  [ "$owner" != "$id" ] || exit 0
  echo "A clone of $url from before was at $path already, and was left as it is. Fetch and check out what you need."
  exit ${keptCode}
fi
next=$folder/.berth-$id
rm -rf -- "$next"
trap 'rm -rf -- "$next"' EXIT
export GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=/bin/true
set -- --quiet --no-recurse-submodules
[ -z "$secret" ] || set -- "$@" -c "credential.$url.helper=$helper"
[ "$kind" != branch ] || set -- "$@" --branch "$ref"
[ "$kind" != commit ] || set -- "$@" --no-checkout
git clone "$@" -- "$url" "$next" || exit 1
if [ "$kind" = commit ]; then
  git -C "$next" cat-file -e "$ref^{commit}" 2> /dev/null || git -C "$next" fetch --quiet origin "$ref" || exit 1
  git -C "$next" checkout --quiet --detach "$ref" || exit 1
fi
git -C "$next" config --local berth.resource "$id" && mv -T -- "$next" "$path" || exit 1
sync -f -- "$path"`

/** The clone of a repository. */
export function cloneScript(resource: SessionResource): string[] {
  const { id, url, mountPath, checkout, sealedToken } = resource
  const ref = checkout === null ? '' : checkout.type === 'branch' ? checkout.name : checkout.sha
  const secret = sealedToken === null ? '' : placeholderOf(resource)
  return ['/bin/bash', '-c', clone, 'clone', mountPath, url ?? '', id, checkout?.type ?? '', ref, secret]
}
