/** Clones the repositories of a new VM, one after the other, as `user` and through the VM's proxy. */
import { BerthError } from '#src/platform/errors.ts'
import { execInGuest } from './exec.ts'
import { findRefusal } from './refusals.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { startOf } from '#src/platform/texts.ts'

/**
 * A URL that git clones (it may contain a credential), a branch or the default one, and an absolute path in the guest.
 */
export type RepoOrder = { url: string; branch: string | null; path: string }

/** Git must not prompt, and must not follow submodules, whose URLs were not checked. */
const quiet = [
  'env',
  'GIT_TERMINAL_PROMPT=0',
  'GIT_ASKPASS=/bin/true',
  'GIT_SSH_COMMAND=ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new',
]
const reasonCharactersMax = 200

/**
 * Clones the repositories; a failed clone does not affect the others.
 * @param timeoutMs for all of them together.
 * @returns a sentence for each that failed, without credentials.
 */
export async function cloneRepos(machine: Machine, repos: readonly RepoOrder[], timeoutMs: number): Promise<string[]> {
  const deadline = performance.now() + timeoutMs
  const warnings: string[] = []
  for (const [index, repo] of repos.entries()) {
    const reason = await clone(machine, repo, deadline - performance.now())
    if (reason) warnings.push(`Repository ${index + 1} (${shown(repo.url)}) was not cloned: ${reason}`)
  }
  return warnings
}

async function clone(machine: Machine, { url, branch, path }: RepoOrder, leftMs: number): Promise<string | null> {
  if (leftMs <= 0) return 'the time limit had passed.'
  try {
    const argv = [
      ...quiet,
      'git',
      'clone',
      '--quiet',
      '--no-recurse-submodules',
      ...(branch ? ['--branch', branch] : []),
      '--',
      url,
      path,
    ]
    const { exitCode, stderr, timedOut } = await execInGuest(machine, { argv, timeoutMs: leftMs })
    if (timedOut) return 'it took too long.'
    return exitCode === 0 ? null : ((await findRefusal(machine, url)) ?? reasonOf(stderr, url))
  } catch (error) {
    if (error instanceof BerthError) return error.message
    throw error
  }
}

/** The last line of git's output, with the URL's credential removed. */
function reasonOf(stderr: string, url: string): string {
  const lines = stderr.trim().split('\n')
  const reason = lines.findLast((line) => line.startsWith('fatal:') || line.startsWith('error:')) ?? lines.at(-1) ?? ''
  const withoutUrl = reason.replaceAll(url, shown(url)).replace(/\/\/[^\s/@]+@/g, '//')
  const secrets = credentialsOf(url)
  const clean = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), withoutUrl)
  return `${startOf(clean.replace(/^(fatal|error): /, ''), reasonCharactersMax) || 'git failed'}.`
}

function credentialsOf(url: string): string[] {
  const parsed = URL.parse(url)
  const parts = [parsed?.username ?? '', parsed?.password ?? ''].filter((part) => part.length > 3)
  return parts.flatMap((part) => [part, decoded(part)])
}

/** The text without percent-encoding; unchanged if it has none, or an invalid one. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // not percent-encoded after all
  }
}

/** The URL without its credential and query. */
function shown(url: string): string {
  const parsed = URL.parse(url)
  return parsed ? `${parsed.host}${parsed.pathname}` : url.replace(/^[^@]*@/, '')
}
