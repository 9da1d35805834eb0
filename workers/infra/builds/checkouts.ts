/** Brings a build's files into its machine: a repository at a commit, or an uploaded archive. */
import { refusalArguments } from '#src/drivers/compute/guest/refusals.ts'
import type { Exit } from '#src/drivers/compute/machine.ts'
import { objectStore } from '#src/drivers/objects.ts'
import { BerthError } from '#src/platform/errors.ts'
import { patiently } from '#src/platform/patience.ts'
import { openSource, type GitSource } from '#src/resources/infra/builds/sources.ts'
import { setBuildCommit } from '#src/resources/infra/builds/states.ts'
import { findCheckout } from '#src/resources/infra/code-host/machines.ts'
import { checkoutArguments } from '#src/resources/infra/code-host/variables.ts'
import { useUpload } from '#src/resources/infra/uploads.ts'
import { buildMachineId } from './machines.ts'
import {
  ask,
  begin,
  checkoutFolder,
  failed,
  machineOf,
  persevere,
  runStep,
  untilOver,
  type BuildRun,
  type StageEnd,
} from './runs.ts'

const codes = { noCommit: 42, noRef: 43, noDefault: 44 } as const

/** A server that is silent for this long is given up. Git's server reports progress every 5 s. */
const silenceSeconds = 60
const connectSeconds = 30

/** While a checkout uses an account: the authorities that git trusts, and among them the node's. */
const authorityFile = '/tmp/berth-authorities.crt'

/**
 * The URL is not written into the checkout, because it may contain a credential, and the checkout may be published. A
 * commit is first requested by its id, which is one small request; only if the server refuses that is everything
 * fetched.
 */
const cloneScript = `export GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=/bin/true GIT_ALLOW_PROTOCOL=https:http:ssh
export GIT_SSH_COMMAND='ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new -o ConnectTimeout=${connectSeconds} -o ServerAliveInterval=${silenceSeconds / 4} -o ServerAliveCountMax=4'
export GIT_HTTP_LOW_SPEED_LIMIT=1 GIT_HTTP_LOW_SPEED_TIME=${silenceSeconds}
if [ -n "$6" ]; then # the account of whoever ordered the build, for this host; it stays on the way out
  export CODEHOST_TOKEN="$6" GIT_SSL_CAINFO=${authorityFile} GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="credential.$7.helper" GIT_CONFIG_VALUE_0="$8"
fi
errors=$(mktemp)
fetch() { git fetch --quiet --no-recurse-submodules "$@" 2> "$errors"; }
fail() { cat "$errors"; exit "$1"; }
rm -rf "$1" # a template that a build made has that build's
git init --quiet "$1" && cd "$1" && git remote add origin "$2" || exit 1
case $4 in
  commit)
    if ! { fetch --depth 1 --no-tags "$3" "$5" && git checkout --quiet --detach FETCH_HEAD 2> "$errors"; }; then
      fetch --tags "$3" '+refs/heads/*:refs/remotes/origin/*' || fail 1
      git checkout --quiet --detach "$5^{commit}" 2> "$errors" || fail ${codes.noCommit}
    fi ;;
  ref) fetch --depth 1 --no-tags "$3" "$5" || { grep -q "find remote ref" "$errors" && fail ${codes.noRef}; fail 1; }
    git checkout --quiet --detach FETCH_HEAD || exit 1 ;;
  default) fetch --depth 1 --no-tags "$3" HEAD || { grep -q "find remote ref" "$errors" && fail ${codes.noDefault}; fail 1; }
    git checkout --quiet --detach FETCH_HEAD || exit 1 ;;
esac
rm -f "$errors" .git/FETCH_HEAD`

/** An archive as tar reads it: plain, or compressed by gzip, xz, bzip2 or zstd; a zip file too. */
const unpackScript = `rm -rf "$1" && mkdir -p "$1" || exit 1
if [ "$(head -c 2 /tmp/context)" = PK ]; then unzip -q /tmp/context -d "$1"; else tar -xf /tmp/context -C "$1" --no-same-owner; fi
code=$?
rm -f /tmp/context
exit $code`

/** Copies an upload into the machine; does nothing for a build of a repository. @throws BuildEnd when there is none. */
export async function fetchUpload(run: BuildRun): Promise<StageEnd> {
  if (!isUpload(run)) return {}
  await begin(run, 'Unpacking the upload')
  const { services } = run.work
  const key = await patiently(() => useUpload(services, run.build.organizationId, run.spec.context))
  if (!key) throw failed('spec.context names no upload of this organization.')
  await persevere(run, async () => {
    const archive = await objectStore(services)
      .read(key)
      .catch((error: unknown) => {
        if (error instanceof BerthError && error.code === 'not_found')
          throw failed('spec.context names an upload that was never finished.')
        throw error
      })
    const channel = await machineOf(run).run({
      argv: ['/bin/dash', '-c', 'cat > /tmp/context'],
      timeoutMs: Math.max(0, run.deadlineMs - performance.now()),
    })
    channel.stdin.on('error', () => undefined) // its exit reports that
    channel.stdout.resume()
    channel.stderr.resume()
    archive.on('error', () => channel.close())
    archive.pipe(channel.stdin)
    const { exitCode } = await untilOver(run, channel, async () => channel.close(), channel.exit).finally(() =>
      archive.destroy(),
    )
    if (exitCode !== 0) throw failed('The upload does not fit on the machine’s disk.')
  })
  return {}
}

/** Checks the files out. @returns a line for the log. @throws BuildEnd with the reason when that fails. */
export async function checkOut(run: BuildRun): Promise<StageEnd> {
  const source = openSource(run.work.services.sealer, run.build)
  if (source) return { line: `At commit ${await clone(run, source)}` }
  if (isUpload(run)) await unpack(run)
  else await ask(run, 'rm -rf "$1" && mkdir -p "$1"', [checkoutFolder])
  return {}
}

/** Whether the build uses an upload: then its context is a URL. */
export function isUpload({ spec }: Pick<BuildRun, 'spec'>): boolean {
  return /^https?:/.test(spec.context)
}

async function clone(run: BuildRun, source: GitSource): Promise<string> {
  const { work, build, claim } = run
  const [how, value] = source.commitSha
    ? ['commit', source.commitSha]
    : source.ref
      ? ['ref', source.ref]
      : ['default', '']
  await begin(run, `Cloning ${build.repoUrl ?? ''}${how === 'default' ? '' : ` at ${value}`}`)
  const { exitCode } = await withAccount(run, source.url, (account) =>
    cloneWhole(run, [
      '/bin/dash',
      '-c',
      cloneScript,
      'clone',
      checkoutFolder,
      build.repoUrl ?? '',
      source.url,
      how,
      value,
      ...account,
    ]),
  )
  if (exitCode === codes.noCommit)
    throw failed(`The repository has no commit ${value}, or no branch or tag contains it.`)
  if (exitCode === codes.noRef) throw failed(`The repository has no branch or tag named ${value}.`)
  if (exitCode === codes.noDefault) throw failed('The repository is empty: it has no default branch.')
  const refusal = exitCode === 0 ? null : await whyRefused(run, source.url)
  if (refusal !== null) run.log.say(refusal, {})
  if (refusal !== null) throw failed(`The repository could not be cloned: ${refusal}`)
  if (exitCode !== 0)
    throw failed(
      `The repository could not be cloned; the log says why. ${isSsh(source.url) ? 'Builds have no SSH key: if it is private, use its https:// URL with a credential in it.' : 'If it is private, its URL must contain a credential, or whoever orders the build must have connected an account that can read it.'}`,
    )
  const { stdout } = await ask(run, 'git -C "$1" rev-parse HEAD', [checkoutFolder])
  const commitSha = stdout.trim()
  if (!/^[0-9a-f]{40,64}$/.test(commitSha)) throw failed('The repository could not be checked out; the log says why.')
  await patiently(() => setBuildCommit(work.services.db, claim, commitSha))
  return commitSha
}

/** What the machine's way out says of the repository's host; null where it lets it through. */
async function whyRefused(run: BuildRun, url: string): Promise<string | null> {
  const argv = refusalArguments(url)
  if (!argv) return null
  const { stdout } = await ask(run, 'exec "$@"', argv)
  return stdout.trim() || null
}

/**
 * Clones with the account that the build was ordered with, if it has one for this URL. The machine's way out inserts the
 * token, into requests that read this repository, and only until the clone is done: what the build runs never has it.
 * @param work gets the script's arguments for the account.
 */
async function withAccount<Result>(
  run: BuildRun,
  url: string,
  work: (account: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const { work: node, build } = run
  const checkout = await patiently(() => findCheckout(node.services, build.id, url))
  if (!checkout) return work([])
  const machineId = buildMachineId(build.id)
  const certificate = await node.authority.certificate()
  await ask(run, `{ cat /etc/ssl/certs/ca-certificates.crt; printf %s "$1"; } > ${authorityFile}`, [certificate])
  node.checkouts.set(machineId, checkout)
  const result = await work(checkoutArguments(checkout.link)).finally(() => node.checkouts.delete(machineId))
  await ask(run, `rm -f ${authorityFile}`, [])
  return result
}

/** A worker's end cuts its machines' egress connections, so a clone that failed because of that is repeated. */
async function cloneWhole(run: BuildRun, argv: readonly string[]): Promise<Exit> {
  const { log, claim } = run
  for (;;) {
    const { attempt, begunBy } = log.progress
    const exit = await runStep(run, `clone-${attempt}`, '/home/user', argv)
    const isAnswer = exit.exitCode === 0 || Object.values<number>(codes).includes(exit.exitCode)
    if (isAnswer || begunBy === claim.workerNumber) return exit
    log.endOutput(
      { attempt: attempt + 1, begunBy: claim.workerNumber },
      'The connection was cut when the worker of this node ended. Cloning once more',
    )
    await log.flush()
  }
}

/** Whether git uses SSH for this URL: `ssh://…`, or the short form without `://`. */
function isSsh(url: string): boolean {
  return url.startsWith('ssh:') || !url.includes('://')
}

async function unpack(run: BuildRun): Promise<void> {
  const { exitCode } = await runStep(run, 'unpack', '/home/user', [
    '/bin/dash',
    '-c',
    unpackScript,
    'unpack',
    checkoutFolder,
  ])
  if (exitCode !== 0) throw failed('The upload could not be unpacked; send a tar or zip archive.')
}
