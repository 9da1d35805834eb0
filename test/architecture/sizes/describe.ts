/** Every column that may be large, with what bounds it: read from a migrated database, and from what is declared. */
import type pg from 'pg'
import { callersPlaces } from './places.ts'
import { rowsOf } from './rows.ts'
import { sizes, type Size } from './declared.ts'

/** A column whose values have no fixed size. `room` counts it; `declared` and `checked` say how large it may be. */
export type SizedColumn = {
  table: string
  column: string
  room: string | null
  checked: Size | null
  declared: Size | null
}

type Read = { table: string; column: string; room: string | null; isKey: boolean; checks: string[] | null }

/** The columns of any size, in all tables of the schema. Those of a room are what triggers really count. */
export async function readSizedColumns(client: pg.Client): Promise<SizedColumn[]> {
  const { rows } = await client.query<Read>(`
    with counted as (
      select tgrelid as id, obj_description(tgfoid, 'pg_proc')::json as declared from pg_trigger where tgname = 'stored_bytes_added')
    select c.relname as "table", a.attname as "column", (
        select declared ->> 'room' from counted, json_array_elements_text(declared -> 'columns') name where counted.id = c.oid and name = a.attname) as room,
      exists (select from pg_constraint r where r.conrelid = c.oid and r.contype = 'f' and r.conkey = array[a.attnum]) as "isKey",
      (select json_agg(pg_get_constraintdef(r.oid)) from pg_constraint r where r.conrelid = c.oid and r.contype = 'c' and a.attnum = any(r.conkey)) as checks
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
    where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped
      and t.typlen = -1 and t.typname <> 'numeric' order by c.relname, a.attnum`)
  return rows.map(({ table, column, room, isKey, checks }) => ({
    table,
    column,
    room,
    checked: isKey
      ? 'id'
      : ((checks ?? []).map((check) => sizeIn(check, column)).find((size) => size !== null) ?? null),
    declared: sizes[table]?.[column] ?? null,
  }))
}

/** What a check says of the size of a column; null for nothing. */
export function sizeIn(check: string, column: string): Size | null {
  if (check.startsWith(`CHECK ((${column} = ANY (ARRAY['`) || check.startsWith(`CHECK ((${column} = '`))
    return / OR |\(\w+\(/.test(check) ? null : 'word'
  if (/ OR /.test(check)) return null
  const length = new RegExp(`\\b(octet_)?length\\(${column}\\) (?:<=|=) (\\d+)\\b`).exec(check)
  if (length) return length[1] ? { bytes: Number(length[2]) } : { characters: Number(length[2]) }
  const pattern = new RegExp(`\\(${column} ~ '\\^(.*)\\$'`).exec(check)?.[1]
  return pattern === undefined ? null : lengthOfPattern(pattern)
}

/** The length of what fits a pattern of sets with counts; null for any other. */
function lengthOfPattern(pattern: string): Size | null {
  const parts = pattern.match(/\[[^\]]+\](?:\{\d+(?:,\d+)?\})?/g) ?? []
  if (parts.join('') !== pattern) return null
  const most = parts.map((part) => Number(/(\d+)\}$/.exec(part)?.[1] ?? 1))
  return { characters: most.reduce((sum, one) => sum + one, 0) }
}

/** Whether a room bounds the rows of a table, because it counts a column of it. */
export function isInRoom(columns: readonly SizedColumn[], table: string): boolean {
  return columns.some((one) => one.table === table && one.room !== null)
}

/** The document: tables with their columns that callers fill, then places on disks. */
export function describeSizes(columns: readonly SizedColumn[]): string {
  const rows = [...Map.groupBy(columns, ({ table }) => table)].flatMap(([table, all]) => {
    const described = describeColumns(all)
    const most = rowsOf[table] ?? 'as many as the room holds'
    return described.length === 0 ? [] : [`| \`${table}\` | ${most} | ${described.join('; ')} |`]
  })
  const places = Object.values(callersPlaces)
    .flat()
    .map(({ where, what, limit }) => `| ${where} | ${what} | ${limit} |`)
  return [
    '# What takes up room, and its limits',
    '',
    'Written by `npm run sizes` from the tables that the migrations make and from the limits of the code; what else bounds use is in',
    '[limits](limits.md).',
    '',
    '## Tables',
    '',
    'The columns that callers fill. Either a room counts them for the whole organization: answers, definitions, transcripts, logs or',
    'deliveries, each with its setting (`BERTH_ORG_ANSWERS_MB` and so on). Or a value has a largest size, and the table a largest number',
    'of rows; they are of one organization unless something else is said. Words of Berth’s own, ids, and sentences about what went wrong',
    'are left out. Small records of what has ended stay where that is said.',
    '',
    '| table | rows | columns |',
    '|---|---|---|',
    ...rows,
    '',
    '## Folders and objects',
    '',
    '| place | what | limit |',
    '|---|---|---|',
    ...places,
    '',
  ].join('\n')
}

/** Those of a table: what rooms count, by room, then those with a size; nothing of what Berth writes itself. */
function describeColumns(columns: readonly SizedColumn[]): string[] {
  const counted = columns.filter(({ room, checked }) => room !== null && checked !== 'word')
  const rooms = [...Map.groupBy(counted, ({ room }) => room)].map(
    ([room, of]) => `${of.map(({ column }) => `\`${column}\``).join(', ')}: ${room}`,
  )
  return [...rooms, ...columns.filter(({ room }) => room === null).flatMap(describeSize)]
}

function describeSize({ column, checked, declared }: SizedColumn): string[] {
  const size = checked ?? declared
  if (size === null || typeof size === 'string') return []
  const [most, unit] = 'bytes' in size ? [size.bytes, 'bytes'] : [size.characters, 'characters']
  return [`\`${column}\`: ${most.toLocaleString('en')} ${unit}`]
}
