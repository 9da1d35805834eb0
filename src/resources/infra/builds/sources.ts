/** Where a build's files come from: a repository at a commit, or an upload. */
import { BerthError } from '#src/platform/errors.ts'
import { limits } from '#src/platform/limits.ts'
import type { Sealer } from '#src/platform/secrets.ts'
import type { Build } from './rows.ts'
import { readAddress } from '#src/resources/infra/git-repos.ts'

/** A repository as given: `url` may hold a credential. Commit before ref before the default branch. */
export type GitSource = { url: string; ref: string | null; commitSha: string | null }

/** The columns of a source: the sealed full URL, a URL to show, and a key that is equal for the same repository. */
export type SourceColumns = {
  repoUrl: string | null
  sealedSource: Buffer | null
  repoKey: string | null
  gitRef: string | null
  commitSha: string | null
}

/** Reads repo_url, git_ref and commit_sha. @throws BerthError invalid_request; its sentence never contains the URL. */
export function readSource(
  sealer: Sealer,
  buildId: string,
  given: { repoUrl?: string | null; gitRef?: string | null; commitSha?: string | null },
): SourceColumns {
  const gitRef = given.gitRef ?? null
  const commitSha = given.commitSha?.toLowerCase() ?? null
  if (
    gitRef !== null &&
    (gitRef.length > limits.nameLength || !/^\w[\w./+@#-]*$/.test(gitRef) || /\.\.|@\{|\.lock$|\/$/.test(gitRef))
  )
    throw new BerthError(
      'invalid_request',
      'git_ref is not a name that git accepts for a branch or a tag; leave it out for the default branch.',
    )
  if (commitSha !== null && !/^[0-9a-f]{7,64}$/.test(commitSha))
    throw new BerthError('invalid_request', 'commit_sha must be 7 to 64 hexadecimal digits, or left out.')
  if (given.repoUrl === null || given.repoUrl === undefined) {
    if (gitRef || commitSha) throw new BerthError('invalid_request', 'git_ref and commit_sha need a repo_url.')
    return { repoUrl: null, sealedSource: null, repoKey: null, gitRef, commitSha }
  }
  const { key } = readAddress(given.repoUrl, 'repo_url: ')
  return {
    repoUrl: withoutCredentials(given.repoUrl),
    sealedSource: sealer.seal(given.repoUrl, `build_jobs.source:${buildId}`),
    repoKey: key.split('?')[0] ?? key,
    gitRef,
    commitSha,
  }
}

/** A build's repository, or null when it is built from an upload. */
export function openSource(
  sealer: Sealer,
  build: Pick<Build, 'id' | 'sealedSource' | 'gitRef' | 'commitSha'>,
): GitSource | null {
  if (!build.sealedSource) return null
  return {
    url: sealer.open(build.sealedSource, `build_jobs.source:${build.id}`),
    ref: build.gitRef,
    commitSha: build.commitSha,
  }
}

/** The URL as it may be shown: without user, password and query, which may contain a token. */
function withoutCredentials(url: string): string {
  const parsed = URL.parse(url)
  if (!parsed || !parsed.hostname) return url // the short form of ssh has a user name and nothing secret
  parsed.username = parsed.protocol === 'ssh:' ? parsed.username : ''
  parsed.password = ''
  parsed.search = ''
  parsed.hash = ''
  return parsed.href
}
