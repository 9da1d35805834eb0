/** The code host on behalf of a person who connected their account: GitHub's REST API, at GitHub or elsewhere. */
import { z } from 'zod'
import { BerthError } from '#src/platform/errors.ts'
import { codeHostLimits } from '#src/platform/limits/code-host.ts'
import { call, parsed, reasonOf, type CodeHostAccess } from './code-host/api.ts'

/** The account behind a token. */
export type CodeHostUser = { id: number; username: string }
/** A repository; `id` is the code host's own. */
export type CodeHostRepository = {
  id: number
  name: string
  fullName: string
  url: string
  cloneUrl: string
  isPrivate: boolean
  /** Whether the account may write to it; false where the code host does not say. */
  canPush: boolean
  defaultBranch: string | null
  description: string | null
}
/** A branch. */
export type CodeHostBranch = { name: string; isProtected: boolean; commitSha: string }

const text = (most: number) => z.string().max(most)
const user = z.object({ id: z.int().positive(), login: text(255).min(1) })
const repository = z.object({
  id: z.int().positive(),
  name: text(255).min(1),
  full_name: text(511).min(1),
  private: z.boolean().catch(true),
  html_url: text(2048).regex(/^https?:/),
  clone_url: text(2048)
    .regex(/^https?:/)
    .nullish()
    .catch(null),
  default_branch: text(1024).nullish().catch(null),
  description: text(4096).nullish().catch(null),
  permissions: z
    .object({ push: z.boolean().catch(false) })
    .nullish()
    .catch(null),
})
const branch = z.object({
  name: text(1024).min(1),
  protected: z.boolean().catch(false),
  commit: z.object({ sha: text(64).regex(/^[0-9a-f]{40,64}$/) }),
})
const installations = z.object({ total_count: z.int().nonnegative() })

/** The account that a token belongs to. @throws BerthError as `call`. */
export async function readUser(access: CodeHostAccess): Promise<CodeHostUser> {
  const { id, login: username } = parsed(user, await call(access, { method: 'GET', path: '/user' }))
  return { id, username }
}

/** Whether the app is installed on an account that this person sees. Hosts without apps answer 403 or 404: then it is not. @throws BerthError as `call`. */
export async function readInstalled(access: CodeHostAccess): Promise<boolean> {
  const answer = await call(access, { method: 'GET', path: '/user/installations?per_page=1' }, [403, 404])
  return answer.status === 200 && parsed(installations, answer).total_count > 0
}

/** A page of the repositories that the token reaches, those that changed last first. @throws BerthError as `call`. */
export async function listRepositories(
  access: CodeHostAccess,
  { page, perPage }: { page: number; perPage: number },
): Promise<CodeHostRepository[]> {
  const query = new URLSearchParams({ page: String(page), per_page: String(perPage), sort: 'pushed' })
  const answer = await call(access, { method: 'GET', path: `/user/repos?${query.toString()}` })
  return parsed(z.array(repository).max(perPage), answer).map((one) => repositoryOf(access, one))
}

/** A repository; null when the account sees none of that name. @throws BerthError as `call`. */
export async function readRepository(
  access: CodeHostAccess,
  { owner, repo }: { owner: string; repo: string },
): Promise<CodeHostRepository | null> {
  const path = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}`
  const answer = await call(access, { method: 'GET', path }, [404])
  return answer.status === 404 ? null : repositoryOf(access, parsed(repository, answer))
}

/** A page of a repository's branches; null when the account sees no such repository. @throws BerthError as `call`. */
export async function listBranches(
  access: CodeHostAccess,
  { owner, repo, page }: { owner: string; repo: string; page: number },
): Promise<CodeHostBranch[] | null> {
  const query = new URLSearchParams({ page: String(page), per_page: String(codeHostLimits.perPageMax) })
  const path = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}/branches?${query.toString()}`
  const answer = await call(access, { method: 'GET', path }, [404])
  if (answer.status === 404) return null
  return parsed(z.array(branch).max(codeHostLimits.perPageMax), answer).map(
    ({ name, protected: isProtected, commit }) => ({
      name,
      isProtected,
      commitSha: commit.sha,
    }),
  )
}

/** Creates an empty repository of the account. @throws BerthError invalid_request when the code host refuses it; as `call`. */
export async function createRepository(
  access: CodeHostAccess,
  order: { name: string; description: string | null; isPrivate: boolean },
): Promise<CodeHostRepository> {
  const body = {
    name: order.name,
    private: order.isPrivate,
    ...(order.description === null ? {} : { description: order.description }),
  }
  const answer = await call(access, { method: 'POST', path: '/user/repos', body }, [403, 404, 422])
  if (answer.status === 422)
    throw new BerthError('invalid_request', `The code host refused it: ${reasonOf([access.token], answer)}`)
  if (answer.status !== 201)
    throw new BerthError(
      'invalid_request',
      'The account’s token may not create repositories. Give the app that permission at the code host, and connect again.',
    )
  return repositoryOf(access, parsed(repository, answer))
}

function repositoryOf({ place }: CodeHostAccess, one: z.infer<typeof repository>): CodeHostRepository {
  return {
    id: one.id,
    name: one.name,
    fullName: one.full_name,
    url: one.html_url,
    cloneUrl: one.clone_url ?? `${place.url}/${one.full_name}.git`,
    isPrivate: one.private,
    canPush: one.permissions?.push ?? false,
    defaultBranch: one.default_branch ?? null,
    description: one.description ?? null,
  }
}
