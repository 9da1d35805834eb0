/** The tables of databases in GraphQL. */
import { builder } from '#schema/builder.ts'
import { enumOf } from '#schema/enums.ts'
import { connectionOf, pageArguments } from '#schema/pages.ts'
import {
  pageTables,
  type DatabaseTable,
  type ForeignKey,
  type ForeignKeyAction,
  type TableColumn,
  type TableIndex,
} from '#src/resources/infra/databases/tables.ts'
import { tableLimits } from '#src/resources/infra/databases/tables/limits.ts'
import { databaseType } from '../databases.ts'

type Kind = 'table' | 'partitioned_table' | 'view' | 'materialized_view' | 'foreign_table'
const kinds: Readonly<Record<DatabaseTable['kind'], Kind>> = {
  r: 'table',
  p: 'partitioned_table',
  v: 'view',
  m: 'materialized_view',
  f: 'foreign_table',
}
const kind = enumOf('DatabaseTableKind', 'What a table of a database is.', {
  table: 'A table; a partition of one is a table too.',
  partitioned_table: 'A table whose rows are in its partitions.',
  view: 'A view.',
  materialized_view: 'A materialized view.',
  foreign_table: 'A table of another server.',
} satisfies Record<Kind, string>)

type Action = 'no_action' | 'restrict' | 'cascade' | 'set_null' | 'set_default'
const actions: Readonly<Record<ForeignKeyAction, Action>> = {
  a: 'no_action',
  r: 'restrict',
  c: 'cascade',
  n: 'set_null',
  d: 'set_default',
}
const action = enumOf('ForeignKeyAction', 'What a foreign key does with its row when the row it points at changes.', {
  no_action: 'It refuses the change, at the end of the statement or the transaction.',
  restrict: 'It refuses the change at once.',
  cascade: 'It follows: the row is changed or deleted too.',
  set_null: 'Its columns become null.',
  set_default: 'Its columns become their defaults.',
} satisfies Record<Action, string>)

const cut = (what: string): string => `${what}; at most ${tableLimits.tableTextLength} characters of it.`

const column = builder.objectRef<TableColumn>('DatabaseTableColumn').implement({
  description: 'A column of a table.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    type: t.exposeString('type', {
      description: 'Its type as Postgres writes it: `character varying(20)`, `public.mood`.',
    }),
    isNullable: t.exposeBoolean('isNullable', { description: 'Whether it may be null.' }),
    default: t.exposeString('default', {
      nullable: true,
      description: cut('Its default, or what it is generated from, as an expression'),
    }),
    isGenerated: t.exposeBoolean('isGenerated', {
      description: 'Whether Postgres gives it its value: it is generated, or an identity.',
    }),
    isPrimaryKey: t.exposeBoolean('isPrimaryKey', { description: 'Whether it is in the primary key.' }),
    comment: t.exposeString('comment', { nullable: true, description: cut('Its comment') }),
  }),
})
const index = builder.objectRef<TableIndex>('DatabaseTableIndex').implement({
  description: 'An index of a table.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    columns: t.exposeStringList('columns', { description: 'Its columns, or expressions, in their order.' }),
    definition: t.exposeString('definition', {
      description: `The statement that makes it; at most ${tableLimits.indexDefinitionLength} characters of it.`,
    }),
    isUnique: t.exposeBoolean('isUnique', { description: 'Whether no two rows may have the same values.' }),
    isPrimaryKey: t.exposeBoolean('isPrimaryKey', { description: 'Whether it is that of the primary key.' }),
    isValid: t.exposeBoolean('isValid', {
      description:
        'Whether queries use it: not one that was not finished, as by a `create index concurrently` that failed.',
    }),
    sizeBytes: t.expose('sizeBytes', { type: 'BigInt', description: 'What it takes.' }),
  }),
})
const foreignKey = builder.objectRef<ForeignKey>('DatabaseTableForeignKey').implement({
  description: 'A foreign key of a table.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    columns: t.exposeStringList('columns', { description: 'Its columns.' }),
    referencedSchema: t.exposeString('referencedSchema', { description: 'The schema of the table that it points at.' }),
    referencedTable: t.exposeString('referencedTable', { description: 'The table that it points at.' }),
    referencedColumns: t.exposeStringList('referencedColumns', {
      description: 'The columns there, in the order of its own.',
    }),
    onUpdate: t.field({
      type: action,
      description: 'What it does when they are changed.',
      resolve: ({ onUpdate }) => actions[onUpdate],
    }),
    onDelete: t.field({
      type: action,
      description: 'What it does when their row is deleted.',
      resolve: ({ onDelete }) => actions[onDelete],
    }),
  }),
})
const table = builder.objectRef<DatabaseTable>('DatabaseTable').implement({
  description: 'A table of a database, or a view.',
  fields: (t) => ({
    schema: t.exposeString('schema', { description: 'The schema that it is in.' }),
    name: t.exposeString('name', { description: 'Its name.' }),
    kind: t.field({ type: kind, description: 'What it is.', resolve: (shown) => kinds[shown.kind] }),
    estimatedRows: t.expose('estimatedRows', {
      type: 'BigInt',
      nullable: true,
      description: 'About how many rows it had when Postgres last looked; null for a view, and before that.',
    }),
    sizeBytes: t.expose('sizeBytes', {
      type: 'BigInt',
      nullable: true,
      description: 'What it takes with its indexes; null where nothing is stored: a view, a table with partitions.',
    }),
    comment: t.exposeString('comment', { nullable: true, description: cut('Its comment') }),
    columns: t.field({
      type: [column],
      description: 'Its columns, in their order.',
      resolve: ({ columns }) => columns ?? [],
    }),
    indexes: t.field({
      type: [index],
      description: `Its indexes by name, ${tableLimits.tableIndexesMax} at most.`,
      resolve: ({ indexes }) => indexes ?? [],
    }),
    foreignKeys: t.field({
      type: [foreignKey],
      description: `Its foreign keys by name, ${tableLimits.tableForeignKeysMax} at most.`,
      resolve: ({ foreignKeys }) => foreignKeys ?? [],
    }),
  }),
})

const tableConnection = connectionOf('DatabaseTable', table)
const tableFilter = builder.inputType('DatabaseTableFilter', {
  description: 'Narrows a list of tables.',
  fields: (t) => ({
    schema: t.string({ description: 'Only those in this schema.' }),
    text: t.string({ description: 'Only those with this piece of text in their name, in upper or lower case.' }),
  }),
})

builder.objectField(databaseType, 'tables', (t) =>
  t.field({
    type: tableConnection,
    nullable: true,
    description: `Its tables and views, by schema and name, as its server describes them within ${tableLimits.tablesSeconds} s; it is woken for that. A page ends early when more is said of its tables than ${tableLimits.tablesPageBytes / 1024} KiB. Of at most ${tableLimits.tablesAtOnce} databases at once. Requires the admin role. Errors: NOT_PERMITTED_FOR_ROLE, INVALID_REQUEST, RATE_LIMITED, TIMEOUT while something holds a lock, SERVICE_UNAVAILABLE, CLIENT_ACCESS_UNAVAILABLE where \`POST /sql\` is off.`,
    args: {
      ...pageArguments,
      ...builder.args((a) => ({ filter: a.field({ type: tableFilter, description: 'Narrows the list.' }) })),
    },
    resolve: (database, { filter, ...window }, call) => pageTables(call, database, window, filter ?? {}),
  }),
)
