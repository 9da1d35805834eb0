/** Brings a build's files into its machine: a repository at a commit, or an uploaded archive. */
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { patiently } from '#src/platform/patience.ts'
import { openSource, type GitSource } from '#src/resources/infra/build-sources.ts'
import { setBuildCommit } from '#src/resources/infra/build-states.ts'
import { useUpload } from '#src/resources/infra/uploads.ts'
import { ask, checkoutFolder, failed, runStep, startStep, untilOver, type BuildRun } from './build-runs.ts'

const codes = { noCommit: 42, noRef: 43, noDefault: 44 } as const

/** Ours: a server that says nothing for so long is given up. Git's server says that it is still at work every 5 s. */
const silenceSeconds = 60
const connectSeconds = 30

/**
 * The address is not written into the checkout: it may hold a credential, and the checkout may be published. A commit is
 * asked for by its name first, which is one small request; only servers that refuse that are asked for everything.
 */
const cloneScript = `exec 2>&1
export GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=/bin/true GIT_ALLOW_PROTOCOL=https:http:ssh
export GIT_SSH_COMMAND='ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o ConnectTimeout=${connectSeconds} -o ServerAliveInterval=${silenceSeconds / 4} -o ServerAliveCountMax=4'
export GIT_HTTP_LOW_SPEED_LIMIT=1 GIT_HTTP_LOW_SPEED_TIME=${silenceSeconds}
said=$(mktemp)
fetch() { git fetch --quiet --no-recurse-submodules "$@" 2> "$said"; }
tell() { cat "$said"; exit "$1"; }
rm -rf "$1" # a template that a build made has that build's
git init --quiet "$1" && cd "$1" && git remote add origin "$2" || exit 1
case $4 in
  commit)
    if ! { fetch --depth 1 --no-tags "$3" "$5" && git checkout --quiet --detach FETCH_HEAD 2> "$said"; }; then
      fetch --tags "$3" '+refs/heads/*:refs/remotes/origin/*' || tell 1
      git checkout --quiet --detach "$5^{commit}" 2> "$said" || tell ${codes.noCommit}
    fi ;;
  ref) fetch --depth 1 --no-tags "$3" "$5" || { grep -q "find remote ref" "$said" && tell ${codes.noRef}; tell 1; }
    git checkout --quiet --detach FETCH_HEAD || exit 1 ;;
  default) fetch --depth 1 --no-tags "$3" HEAD || { grep -q "find remote ref" "$said" && tell ${codes.noDefault}; tell 1; }
    git checkout --quiet --detach FETCH_HEAD || exit 1 ;;
esac
rm -f "$said" .git/FETCH_HEAD`

/** An archive as tar reads it: plain, or compressed by gzip, xz, bzip2 or zstd; a zip file too. */
const unpackScript = `exec 2>&1
rm -rf "$1" && mkdir -p "$1" && cat > /tmp/context || exit 1
if [ "$(head -c 2 /tmp/context)" = PK ]; then unzip -q /tmp/context -d "$1"; else tar -xf /tmp/context -C "$1" --no-same-owner; fi
code=$?
rm -f /tmp/context
exit $code`

/** Puts the files at their place. @throws BuildEnd saying why that is not possible. */
export async function checkOut(run: BuildRun): Promise<void> {
  const source = openSource(run.work.services.sealer, run.build)
  if (source) await clone(run, source)
  else if (/^https?:/.test(run.spec.context)) await unpack(run)
  else await ask(run, 'rm -rf "$1" && mkdir -p "$1"', [checkoutFolder])
}

async function clone(run: BuildRun, source: GitSource): Promise<void> {
  const { work, build, log } = run
  const [how, value] = source.commitSha ? ['commit', source.commitSha] : source.ref ? ['ref', source.ref] : ['default', '']
  log.say(`Cloning ${build.repoUrl ?? ''}${how === 'default' ? '' : ` at ${value}`}`)
  const { exitCode } = await runStep(run, '/home/user', ['/bin/dash', '-c', cloneScript, 'clone', checkoutFolder, build.repoUrl ?? '', source.url, how, value])
  if (exitCode === codes.noCommit) throw failed(`The repository has no commit ${value}, or no branch or tag leads to it.`)
  if (exitCode === codes.noRef) throw failed(`The repository has no branch or tag named ${value}.`)
  if (exitCode === codes.noDefault) throw failed('The repository is empty: it has no default branch.')
  if (exitCode !== 0) throw failed(`The repository could not be cloned; the log says why. ${isSsh(source.url) ? 'Builds have no SSH key: if it is private, use its https:// address with a credential in it.' : 'If it is private, its address must hold a credential.'}`)
  const { stdout } = await ask(run, 'git -C "$1" rev-parse HEAD', [checkoutFolder])
  const commitSha = stdout.trim()
  if (!/^[0-9a-f]{40,64}$/.test(commitSha)) throw failed('The repository could not be checked out; the log says why.')
  await patiently(() => setBuildCommit(work.services.db, build.id, commitSha))
  log.say(`At commit ${commitSha}`)
}

/** Whether git reaches the address over SSH: `ssh://…`, or the short form without `://`. */
function isSsh(url: string): boolean {
  return url.startsWith('ssh:') || !url.includes('://')
}

async function unpack(run: BuildRun): Promise<void> {
  const { build, log, spec } = run
  const { services } = run.work
  const key = await useUpload(services, build.organizationId, spec.context)
  if (!key) throw failed('spec.context names no upload of this organization.')
  log.say('Unpacking the upload')
  const archive = await objectStore(services).read(key).catch((error: unknown) => {
    if (error instanceof BerthError && error.code === 'not_found') throw failed('spec.context names an upload that was never finished.')
    throw error
  })
  const step = await startStep(run, '/home/user', ['/bin/dash', '-c', unpackScript, 'unpack', checkoutFolder])
  archive.on('error', () => step.channel.close())
  archive.pipe(step.channel.stdin)
  const poured = Promise.all([log.pour(step.channel.stdout as AsyncIterable<Buffer>), log.pour(step.channel.stderr as AsyncIterable<Buffer>)])
  const { exitCode } = await untilOver(run, step, poured.then(() => step.channel.exit)).finally(() => archive.destroy())
  if (exitCode !== 0) throw failed('The upload could not be unpacked; send a tar or zip archive.')
}
