/** Which requests are git's own: they read or write a repository over HTTP (gitprotocol-http), and do nothing else. */

/** The requests of git in which a secret is replaced: at this port; `repository`: of this one only, `owner/name`; `mayPush`: those that write too. */
export type GitUse = { port: number; repository: string | null; mayPush: boolean }

/** A request as a guest sent it. */
export type GuestRequest = { port: number; method: string; url: string }

const pathLengthMax = 1_024

/** Whether a secret that is for git is replaced in this request. */
export function isForGit({ port, repository, mayPush }: GitUse, request: GuestRequest): boolean {
  const asked = request.port === port ? readGitRequest(request) : null
  if (!asked || (asked.isPush && !mayPush)) return false
  return repository === null || asked.repository.toLowerCase() === repository.toLowerCase()
}

/** The repository that a request of git is about, without `.git`; null for any other request. */
function readGitRequest({ method, url }: GuestRequest): { repository: string; isPush: boolean } | null {
  if (url.length > pathLengthMax) return null
  const [path = '', query = '', ...more] = url.split('?')
  if (more.length > 0) return null
  const last = path.slice(path.lastIndexOf('/') + 1)
  const isRefs = path.endsWith('/info/refs')
  const service = isRefs ? (/^service=(git-[a-z-]+)$/.exec(query)?.[1] ?? '') : query === '' ? last : ''
  if (!services.has(service) || method !== (isRefs ? 'GET' : 'POST')) return null
  const repository = path.slice(1, -(isRefs ? '/info/refs' : `/${service}`).length).replace(/\.git$/, '')
  // Plain names only: what a host makes of dots and escapes is its own business.
  const names = repository.split('/')
  if (names.length < 2 || !names.every((name) => /^[\w.-]+$/.test(name) && !/^\.+$/.test(name))) return null
  return { repository, isPush: service === 'git-receive-pack' }
}

const services: ReadonlySet<string> = new Set(['git-upload-pack', 'git-receive-pack'])
