/** How a database's server is asked for its tables: what it has in `pg_class`, without Postgres' own and Berth's. */
import { tableLimits } from './limits.ts'

/**
 * What is listed. $1: a schema, $2: a piece of text; null for all. $3 and $4: schema and name of the table that precedes them, $5 and
 * $6: of the one that follows, null for none.
 */
const listed = `
  pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f')
    and n.nspname !~ '^pg_'
    and n.nspname not in ('information_schema', 'auth')
    and ($1::text is null or n.nspname = $1)
    and ($2::text is null or position(lower($2) in lower(c.relname)) > 0)
    and ($3::text is null or (n.nspname, c.relname) > ($3::name, $4::name))
    and ($5::text is null or (n.nspname, c.relname) < ($5::name, $6::name))`

/** Counts them. */
export const countStatement = `select count(*) from ${listed}`

/** Only what is generated names columns; to look up a table's names takes a lock, and long for one of many columns. */
const columns = `
  select json_agg(json_build_object(
    'name', a.attname,
    'type', format_type(a.atttypid, a.atttypmod),
    'isNullable', not a.attnotnull,
    'default', left(pg_get_expr(d.adbin, case when a.attgenerated = '' then 0 else d.adrelid end), ${tableLimits.tableTextLength}),
    'isGenerated', a.attgenerated <> '' or a.attidentity <> '',
    'isPrimaryKey', exists (select from pg_index p where p.indrelid = a.attrelid and p.indisprimary and a.attnum = any (p.indkey)),
    'comment', left(col_description(a.attrelid, a.attnum), ${tableLimits.tableTextLength})
  ) order by a.attnum)
  from pg_attribute a
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped`

const indexes = `
  select json_agg(json_build_object(
    'name', i.relname,
    'columns', (select json_agg(pg_get_indexdef(x.indexrelid, k, false) order by k) from generate_series(1, x.indnkeyatts) k),
    'definition', left(pg_get_indexdef(x.indexrelid), ${tableLimits.indexDefinitionLength}),
    'isUnique', x.indisunique,
    'isPrimaryKey', x.indisprimary,
    'isValid', x.indisvalid,
    'sizeBytes', pg_relation_size(x.indexrelid)
  ) order by i.relname)
  from (select * from pg_index where indrelid = t.oid order by indexrelid limit ${tableLimits.tableIndexesMax}) x
  join pg_class i on i.oid = x.indexrelid`

const namesOf = (table: string, numbers: string): string => `(
      select json_agg(a.attname order by k.place)
      from unnest(${numbers}) with ordinality k (number, place)
      join pg_attribute a on a.attrelid = ${table} and a.attnum = k.number)`

const foreignKeys = `
  select json_agg(json_build_object(
    'name', f.conname,
    'columns', ${namesOf('f.conrelid', 'f.conkey')},
    'referencedSchema', rn.nspname,
    'referencedTable', r.relname,
    'referencedColumns', ${namesOf('f.confrelid', 'f.confkey')},
    'onUpdate', f.confupdtype,
    'onDelete', f.confdeltype
  ) order by f.conname)
  from (select * from pg_constraint where conrelid = t.oid and contype = 'f' order by conname limit ${tableLimits.tableForeignKeysMax}) f
  join pg_class r on r.oid = f.confrelid
  join pg_namespace rn on rn.oid = r.relnamespace`

/**
 * A page of them, in order of schema and name. $7: how many. A row is a JSON text, and how many tables there were before the page's
 * bytes were cut.
 * @param fromEnd whether the page is read backwards.
 */
export function pageStatement(fromEnd: boolean): string {
  const order = fromEnd ? 'desc' : 'asc'
  return `
  select described.body, described.found
  from (
    select page.*, sum(length(page.body)) over (order by page.place) - length(page.body) as before, count(*) over () as found
    from (
      select t.place, json_build_object(
        'schema', t.nspname,
        'name', t.relname,
        'kind', t.relkind,
        'estimatedRows', case when t.relkind in ('r', 'p', 'm') and t.reltuples >= 0 then round(t.reltuples)::bigint end,
        'sizeBytes', case when t.relkind in ('r', 'm') then pg_total_relation_size(t.oid) end,
        'comment', left(obj_description(t.oid, 'pg_class'), ${tableLimits.tableTextLength}),
        'columns', (${columns}),
        'indexes', (${indexes}),
        'foreignKeys', (${foreignKeys})
      )::text as body
      from (
        select c.oid, c.relname, c.relkind, c.reltuples, n.nspname,
          row_number() over (order by n.nspname ${order}, c.relname ${order}) as place
        from ${listed}
        order by place
        limit $7::int
      ) t
    ) page
  ) described
  where described.before + length(described.body) <= ${tableLimits.tablesPageBytes} or described.place = 1
  order by described.place`
}
