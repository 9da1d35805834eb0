/** Webhooks of repositories at the code host: it tells Berth of each push. */
import { z } from 'zod'
import { pushLimits } from '#src/platform/limits/pushes.ts'
import { call, parsed, reasonOf, type CodeHostAccess } from './api.ts'

/** A repository by its owner and its name. */
export type RepositoryName = { owner: string; repo: string }

const hook = z.object({
  id: z.int().positive(),
  config: z.object({ url: z.string().max(2048).nullish().catch(null) }).catch({}),
})

/**
 * Makes a webhook that tells `url` of each push, signed with this secret.
 * @returns its id at the code host; or why the code host makes none, in its own words.
 * @throws BerthError as `call`.
 */
export async function createPushHook(
  access: CodeHostAccess,
  repository: RepositoryName,
  { url, secret }: { url: string; secret: string },
): Promise<{ id: number } | { refusal: string }> {
  const body = {
    name: 'web',
    active: true,
    events: ['push'],
    config: { url, content_type: 'json', secret, insecure_ssl: '0' },
  }
  const answer = await call(access, { method: 'POST', path: hooksOf(repository), body }, [403, 404, 422])
  if (answer.status === 201) return { id: parsed(hook, answer).id }
  if (answer.status === 422) return { refusal: reasonOf([access.token, secret], answer) }
  return { refusal: 'the account’s token may not make webhooks for this repository.' }
}

/** Removes a webhook; one that is gone, or out of the account's reach, stays so. @throws BerthError as `call`. */
export async function deletePushHook(access: CodeHostAccess, repository: RepositoryName, id: number): Promise<void> {
  await call(access, { method: 'DELETE', path: `${hooksOf(repository)}/${id}` }, [204, 403, 404])
}

/** The id of the webhook with this address; null when the repository has none. @throws BerthError as `call`. */
export async function findPushHook(
  access: CodeHostAccess,
  repository: RepositoryName,
  url: string,
): Promise<number | null> {
  const path = `${hooksOf(repository)}?per_page=${pushLimits.hooksRead}`
  const answer = await call(access, { method: 'GET', path }, [403, 404])
  if (answer.status !== 200) return null
  return parsed(z.array(hook).max(pushLimits.hooksRead), answer).find(({ config }) => config.url === url)?.id ?? null
}

function hooksOf({ owner, repo }: RepositoryName): string {
  return `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repo)}/hooks`
}
