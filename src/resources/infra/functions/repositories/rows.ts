/** Linked repositories and the pushes to them: their rows, and their queries. */
import { encodeId } from '#src/platform/ids.ts'
import { findAll, findOne, sql, type Db, type Tx } from '#src/platform/postgres.ts'
import type { Row } from '#src/platform/postgres/rows.ts'
import type { Config } from '#src/platform/config.ts'

/** The link of a function to a repository at the code host. */
export type LinkedRepository = Row<'function_repositories', { hookId: number | null }>

/** A link as it is shown: without its spec and its secret. */
export type ShownRepository = Omit<LinkedRepository, 'sealedSpec' | 'sealedSecret'> & { lastPush: Push | null }

/** A push to a linked repository. */
export type Push = Row<'function_pushes', { pushedAt: number | null }>

const shown = sql`id, function_id, organization_id, user_id, url, repository_id, full_name, clone_url, branch, hook_id, pushes_received, removed_at, created_at`

/** The link of this stored id, whoever owns it, also one that is removed. */
export async function findLinkedRepository(db: Db, id: string): Promise<LinkedRepository | undefined> {
  return findOne(db, sql`select * from function_repositories where id = ${id}`)
}

/** The same, locked until the transaction ends. The function must be locked before. */
export async function lockLinkedRepository(tx: Tx, id: string): Promise<LinkedRepository | undefined> {
  return findOne(tx, sql`select * from function_repositories where id = ${id} for no key update`)
}

/** The links of these functions that are in use, each with its newest push. */
export async function findRepositoriesOf(db: Db, functionIds: ReturnType<typeof sql>): Promise<ShownRepository[]> {
  const repositories = await findAll<Omit<ShownRepository, 'lastPush'>>(
    db,
    sql`select ${shown} from function_repositories where function_id in (${functionIds}) and removed_at is null`,
  )
  const pushes = await findAll<Push>(
    db,
    sql`
    select p.* from unnest(${repositories.map(({ id }) => id)}::uuid[]) r (id)
    cross join lateral (select * from function_pushes where repository_id = r.id order by position desc limit 1) p`,
  )
  const lastOf = new Map(pushes.map((push) => [push.repositoryId, push]))
  return repositories.map((one) => ({ ...one, lastPush: lastOf.get(one.id) ?? null }))
}

/** The address that the code host tells of pushes. */
export function webhookUrl({ publicUrl }: Pick<Config, 'publicUrl'>, { id }: Pick<LinkedRepository, 'id'>): string {
  return `${publicUrl}/api/v1/codehost/pushes/${encodeId('functionRepository', id)}`
}

/** Where a link's secret is sealed. */
export function placeOfSecret(id: string): string {
  return `function_repositories.secret:${id}`
}

/** Where the spec of a link's builds is sealed. */
export function placeOfSpec(id: string): string {
  return `function_repositories.spec:${id}`
}

/** Owner and name of `owner/name`. */
export function partsOf({ fullName }: Pick<LinkedRepository, 'fullName'>): { owner: string; repo: string } {
  const [owner = '', repo = ''] = fullName.split('/')
  return { owner, repo }
}
