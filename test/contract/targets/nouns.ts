/** Something of the owner's for the callers to try to reach: of each noun here a row that holds the canary. */
import { decodeId, encodeId, idPrefixes, newId, newUuid } from '#src/platform/ids.ts'
import { sql, type Db } from '#src/platform/postgres.ts'

/** Nouns of which an organization and a text make a row, by the kind of their ids: their tables, the column of the text, and that of a name that must be its own. */
const nouns = {
  project: { table: 'projects', text: 'name' },
  template: { table: 'templates', text: 'description', named: 'name' },
} as const satisfies Record<string, { table: string; text: string; named?: string }>
type Kind = keyof typeof nouns

/** Public ids. */
export type NounsTarget = Record<Kind, string>

/** An id of each. */
function each(idOf: (kind: Kind) => string): NounsTarget {
  return Object.fromEntries(kinds.map((kind) => [kind, idOf(kind)])) as NounsTarget // has every kind
}
const kinds = Object.keys(nouns) as Kind[] // which it has and no others

/** Ids of the same kinds that nothing has. */
export const absentNounsTarget = (): NounsTarget => each((kind) => newId(kind))
/** Texts that are no ids. */
export const malformedNounsTarget: NounsTarget = each((kind) => `${idPrefixes[kind]}_x`)

/** Makes one of each. */
export async function makeNounsTarget(db: Db, organizationId: string, canary: string): Promise<NounsTarget> {
  const ids = each(newUuid)
  for (const kind of kinds) {
    const { table, text, named }: { table: string; text: string; named?: string } = nouns[kind]
    const id = ids[kind]
    const row = { id, organization_id: organizationId, [text]: canary, ...(named ? { [named]: `owned-${id}` } : {}) }
    const columns = sql.join(Object.keys(row).map((column) => sql.ref(column)))
    await sql`insert into ${sql.table(table)} (${columns}) values (${sql.join(Object.values(row))})`.execute(db)
  }
  return each((kind) => encodeId(kind, ids[kind]))
}

/** Everything stored of them, as text. */
export async function nounsPicture(db: Db, target: NounsTarget): Promise<string[]> {
  const pictures: string[] = []
  for (const kind of kinds) {
    const rows = sql<{
      row: string
    }>`select n::text as row from ${sql.table(nouns[kind].table)} n where id = ${decodeId(kind, target[kind])}`
    pictures.push(...(await rows.execute(db)).rows.map(({ row }) => `${kind} ${row}`))
  }
  return pictures
}
