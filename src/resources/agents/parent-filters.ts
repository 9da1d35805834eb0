/** Filters of lists by what their rows belong to. */
import { sql, type RawBuilder } from 'kysely'
import { decodeId } from '#src/platform/ids.ts'

/** What leads to a list, beside the owner of its rows. */
export type Parent = 'agent' | 'deployment' | 'environment'

const columns: Readonly<Record<Parent, RawBuilder<unknown>>> = {
  agent: sql`agent_id`,
  deployment: sql`deployment_id`,
  environment: sql`environment_id`,
}

/** The condition that a row belongs to the one of this public id: all do without one, none to a text that is no such id. */
export function belongsTo(parent: Parent, publicId: string | null | undefined): RawBuilder<unknown> {
  if (publicId === null || publicId === undefined) return sql`true`
  const id = decodeId(parent, publicId)
  return id === undefined ? sql`false` : sql`${columns[parent]} = ${id}`
}

/** The condition that a row belongs to `parent`, in lists of each of several. */
export function belongsToEach(parent: Parent): RawBuilder<unknown> {
  return sql`${columns[parent]} = parent.id`
}
