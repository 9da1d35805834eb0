/** What Berth has, as the sections read it: rows by their names, and what they refer to. */
import type { Berth } from '../../src/client/berth.ts'
import { Failure } from '../errors.ts'
import type { Section } from './section.ts'
import type { Row } from './values.ts'

const pageRowsUsual = 50 // an operation answers 2000 objects at most, and those inside rows count too
const rowsMax = 10_000 // of a section

type Page = { rows: { nodes: Row[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } | null }

/** The query of a page of a section's rows. */
export function listQuery({ root, select }: Pick<Section, 'root' | 'select'>): string {
  return `query Described($first: Int!, $after: String) {
    rows: ${root}(first: $first, after: $after) { nodes { id ${select} } pageInfo { hasNextPage endCursor } } }`
}

/** How many rows of a section are asked for at once. */
export function pageRowsOf({ pageRows = pageRowsUsual }: Pick<Section, 'pageRows'>): number {
  return pageRows
}

/** All rows of a section that are in use. @throws Failure when there are too many; BerthError. */
export async function readRows(berth: Berth, section: Section): Promise<Row[]> {
  const rows: Row[] = []
  let after: string | null = null
  do {
    const answer = (await berth.query(listQuery(section), { first: pageRowsOf(section), after })) as unknown as Page // as the query says
    rows.push(...(answer.rows?.nodes ?? []))
    after = answer.rows?.pageInfo.hasNextPage ? answer.rows.pageInfo.endCursor : null
    if (rows.length > rowsMax) throw new Failure(`There are more than ${rowsMax} ${section.root}: files are for fewer.`)
  } while (after !== null)
  return rows.filter((row) => !section.isGone?.(row))
}
