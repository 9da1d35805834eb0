/** The repositories that a new VM clones: the legacy one first, then the list, each URL once. */
import { isAbsolute, posix } from 'node:path'
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import { withoutEnding } from '#src/platform/texts.ts'
import { exact, sentenceOf } from '#src/platform/shapes.ts'

/** A repository to clone and where to: an absolute path in the guest. */
export type GitRepo = { url: string; branch: string | null; path: string }

/** The home folder in the guest. */
export const guestHome = '/home/user'

const given = z.array(
  exact({ url: z.string().min(1), branch: z.string().nullish(), path: z.string().max(1024).nullish() }),
  'git_repos must be a list of {url, branch, path}.',
)

/**
 * Reads the repositories of a create request.
 * @throws BerthError invalid_request naming the problem, never the URL, which may contain a credential.
 */
export function readGitRepos(input: {
  gitRepoUrl?: string | null
  gitBranch?: string | null
  gitRepos?: unknown
}): GitRepo[] {
  const outcome = given.safeParse(input.gitRepos ?? [])
  if (outcome.error?.issues[0]?.code === 'unrecognized_keys')
    throw new BerthError('invalid_request', sentenceOf(outcome.error, 'git_repos'))
  if (!outcome.success)
    throw new BerthError(
      'invalid_request',
      `git_repos must be a list of {url, branch, path}: look at item ${String(outcome.error.issues[0]?.path[0] ?? 0)}.`,
    )
  if (input.gitBranch && !input.gitRepoUrl)
    throw new BerthError(
      'invalid_request',
      'git_branch is the branch of git_repo_url: give both, or the branch inside git_repos.',
    )
  const all = [
    ...(input.gitRepoUrl ? [{ url: input.gitRepoUrl, branch: input.gitBranch, path: null }] : []),
    ...outcome.data,
  ]
  if (all.length > limits.gitReposPerVm)
    throw new BerthError('invalid_request', `A VM clones at most ${limits.gitReposPerVm} repositories at creation.`)
  const seen = new Set<string>()
  const repos: GitRepo[] = []
  for (const [index, repo] of all.entries()) {
    const { key, name } = readAddress(repo.url, `Repository ${index + 1}: `)
    if (seen.has(key)) continue
    seen.add(key)
    repos.push({ url: repo.url, branch: readBranch(repo.branch, index), path: readPath(repo.path, name, index) })
  }
  return repos
}

/**
 * A key that is equal for URLs of the same repository, and the repository's name.
 * @throws BerthError invalid_request, beginning with `which`.
 */
export function readAddress(url: string, which: string): { key: string; name: string } {
  const refused = (why: string): BerthError => new BerthError('invalid_request', `${which}${why}`)
  if (url.length > limits.gitUrlLength) throw refused(`the url must have at most ${limits.gitUrlLength} characters.`) // before the patterns, which scan it repeatedly
  // The short form of ssh: git@host:owner/name.git
  const short = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)([\w./~-]+)$/.exec(url)
  const parsed = short
    ? { protocol: 'ssh:', username: '', hostname: short[1] ?? '', port: '', pathname: `/${short[2] ?? ''}`, search: '' }
    : URL.parse(url)
  if (!parsed || !parsed.hostname) throw refused('git cannot clone the url; use https://host/owner/name.')
  // Plain http can be read on the network, so it is only for the operator's own host, which is reached locally.
  const allowed =
    parsed.protocol === 'https:' ||
    parsed.protocol === 'ssh:' ||
    (parsed.protocol === 'http:' && parsed.hostname.toLowerCase() === 'host.berth.internal')
  if (!allowed) throw refused('the url must begin with https:// or ssh:// (http:// only for host.berth.internal).')
  if (!isHost(parsed.hostname) || /^(?:-|%2d)/i.test(parsed.username))
    throw refused('the url has a host or user name that ssh would take for an option, or that is no name.')
  if (/[\s\\]|^-/.test(url)) throw refused('the url contains characters that are not allowed in a URL.')
  const path = withoutEnding(parsed.pathname, '/').replace(/\.git$/, '')
  const name = posix.basename(path)
  if (!/^[\w.-]+$/.test(name) || name === '.' || name === '..') throw refused('the url names no repository.')
  return { key: `${parsed.hostname.toLowerCase()}:${parsed.port}${path}${parsed.search}`, name }
}

/** A host by name or IPv6 address. ssh, which git calls, takes what begins with a hyphen for an option, and git unescapes percent signs. */
function isHost(text: string): boolean {
  return /^(?:[\w.][\w.-]*|\[[\d:a-f.]+\])$/i.test(text)
}

/** Whether git accepts this as the name of a branch. */
export function isBranchName(text: string): boolean {
  return text.length <= limits.gitBranchLength && /^[\w][\w./+@#-]*$/.test(text) && !text.includes('..')
}

function readBranch(branch: string | null | undefined, index: number): string | null {
  if (!branch) return null
  if (!isBranchName(branch))
    throw new BerthError('invalid_request', `Repository ${index + 1}: the branch is not a name git accepts.`)
  return branch
}

function readPath(path: string | null | undefined, name: string, index: number): string {
  const full = !path ? `${guestHome}/${name}` : isAbsolute(path) ? path : `${guestHome}/${path}`
  const clean = withoutEnding(posix.normalize(full), '/')
  const relativeEscapes = path && !isAbsolute(path) && !clean.startsWith(`${guestHome}/`)
  if (clean.includes('\0') || clean === '' || relativeEscapes)
    throw new BerthError(
      'invalid_request',
      `Repository ${index + 1}: the path must stay inside ${guestHome}, or be absolute.`,
    )
  return clean
}
