/** The tables of a migrated database as one readable text, and as types: src/platform/tables.sql and postgres/tables.ts. */
import type pg from 'pg'
import { camelName } from '#src/platform/postgres/statements.ts'

type Column = {
  table: string
  name: string
  type: string
  required: boolean
  fallback: string | null
  identity: boolean
}
type Detail = { table: string; definition: string }
type Table = { name: string; unlogged: boolean; partitioning: string | null }

/** Ordinary and partitioned tables; the partitions are made by the day and not described. */
const isTable = (alias: string): string =>
  `${alias}.relkind in ('r', 'p') and not ${alias}.relispartition and ${alias}.relnamespace = 'public'::regnamespace`

/** Describes every table of the schema `public`: columns as the migrations made them, then constraints and indexes, by name. */
export async function describeTables(client: pg.Client): Promise<string> {
  const rows = async <Row extends pg.QueryResultRow>(text: string): Promise<Row[]> =>
    (await client.query<Row>(text)).rows
  const tables = await rows<Table>(`
    select c.relname as name, c.relpersistence = 'u' as unlogged, pg_get_partkeydef(c.oid) as partitioning from pg_class c where ${isTable('c')} order by 1`)
  const columns = await readColumns(client)
  const constraints = await rows<Detail>(`
    select r.conrelid::regclass::text as "table", 'constraint ' || r.conname || ' ' || pg_get_constraintdef(r.oid) as definition
    from pg_constraint r join pg_class c on c.oid = r.conrelid where r.contype <> 'n' and ${isTable('c')} order by 1, r.contype desc, r.conname`)
  const indexes = await rows<Detail>(`
    select i.indrelid::regclass::text as "table", pg_get_indexdef(i.indexrelid) as definition
    from pg_index i join pg_class c on c.oid = i.indrelid
    where ${isTable('c')} and not exists (select from pg_constraint r where r.conindid = i.indexrelid and r.contype in ('p', 'u')) order by 1, 2`)
  const of = <One extends { table: string }>(list: readonly One[], name: string): One[] =>
    list.filter((one) => one.table === name)
  const described = tables.map(({ name, unlogged, partitioning }) => {
    const inside = [...of(columns, name).map(describeColumn), ...of(constraints, name).map((one) => one.definition)]
    const after = of(indexes, name).map((one) => `${one.definition};`)
    return [
      `create ${unlogged ? 'unlogged ' : ''}table ${name} (`,
      inside.map((line) => `  ${line}`).join(',\n'),
      partitioning ? `) partition by ${partitioning};` : ');',
      ...after,
    ].join('\n')
  })
  return `-- What the migrations make, for reading. Not run. Written by: npm run tables\n\n${described.join('\n\n')}\n`
}

async function readColumns(client: pg.Client): Promise<Column[]> {
  const { rows } = await client.query<Column>(`
    select c.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
      pg_get_expr(d.adbin, d.adrelid) as fallback, a.attidentity <> '' as identity
    from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where ${isTable('c')} and a.attnum > 0 and not a.attisdropped order by 1, a.attnum`)
  return rows
}

/** What a query answers for a column of this type: postgres/statements.ts reads it so. */
const readAs: Readonly<Record<string, string>> = {
  uuid: 'string',
  text: 'string',
  'timestamp with time zone': 'string',
  bigint: 'number',
  integer: 'number',
  'double precision': 'number',
  numeric: 'number',
  boolean: 'boolean',
  bytea: 'Buffer',
  jsonb: 'unknown',
  json: 'unknown',
  date: 'Date',
  tsvector: 'string',
  'bit varying': 'string',
  'text[]': 'string[]',
  'uuid[]': 'string[]',
}

const lineLength = 116

/** As many to a line as have room. */
function inLines(fields: readonly string[]): string {
  const lines: string[] = []
  for (const field of fields) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + field.length + 2 <= lineLength)
      lines[lines.length - 1] = `${last}; ${field}`
    else lines.push(field)
  }
  return lines.map((line) => `    ${line}\n`).join('')
}

/** The same tables as TypeScript knows them: every column by its name in the code, with what a query answers for it. */
export async function describeRows(client: pg.Client): Promise<string> {
  const byTable = Map.groupBy(await readColumns(client), ({ table }) => table)
  const described = [...byTable].map(([table, columns]) => {
    const fields = columns.map(({ name, type, required }) => {
      const read = readAs[type.replace(/\(.*\)/, '')]
      if (!read) throw new Error(`${table}.${name} is of type ${type}: say in describe-tables.ts as what it is read`)
      return `${camelName(name)}: ${read}${required || read === 'unknown' ? '' : ' | null'}`
    })
    return `  ${table}: {\n${inLines(fields)}  }\n`
  })
  return `/** The tables that the migrations make, as queries answer their rows. Written by: npm run tables */

// biome-ignore format: a line for each column would be five hundred
/** Every table's columns; \`unknown\` is JSON. */
export type Tables = {
${described.join('')}}
`
}

function describeColumn({ name, type, required, fallback, identity }: Column): string {
  return [
    name,
    type,
    ...(required ? ['not null'] : []),
    ...(identity ? ['generated always as identity'] : []),
    ...(fallback === null ? [] : [`default ${fallback}`]),
  ].join(' ')
}
