/** Statements that people run in a database, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { limits } from '#src/platform/limits.ts'
import {
  runSql,
  type SqlColumn,
  type SqlFailure,
  type SqlOutcome,
  type SqlResult,
} from '#src/resources/infra/databases/queries.ts'

const column = builder.objectRef<SqlColumn>('SqlColumn').implement({
  description: 'A column of the result of a statement.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name; several may have the same.' }),
    typeOid: t.exposeInt('dataTypeID', { description: 'Its type: the `oid` in `pg_type`.' }),
  }),
})
const result = builder.objectRef<SqlResult>('SqlResult').implement({
  description: 'What a statement answered.',
  fields: (t) => ({
    command: t.exposeString('command', {
      nullable: true,
      description: 'What was done: `SELECT`, `INSERT` and so on; null when the statement was empty.',
    }),
    rowCount: t.int({
      nullable: true,
      description: 'How many rows were read or changed; null where that is not counted.',
      resolve: ({ rowCount }) => rowCount,
    }),
    columns: t.field({ type: [column], description: 'Its columns.', resolve: ({ fields }) => fields }),
    rows: t.field({
      type: 'JSON',
      description:
        'Its rows: a list of lists, in the order of the columns. Values are texts as Postgres writes them, or null.',
      resolve: ({ rows }) => rows,
    }),
  }),
})
const failure = builder.objectRef<SqlFailure>('SqlFailure').implement({
  description: 'Why Postgres refused a statement, in its own words.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'What is wrong.' }),
    sqlState: t.exposeString('code', { nullable: true, description: 'Postgres’ code: `42P01` and so on.' }),
    detail: t.exposeString('detail', { nullable: true, description: 'More about it.' }),
    hint: t.exposeString('hint', { nullable: true, description: 'What to do.' }),
    position: t.int({
      nullable: true,
      description: 'Where in the statement: the number of a character, from 1.',
      resolve: ({ position }) => (position === null ? null : Number(position)),
    }),
  }),
})

builder.relayMutationField(
  'runSql',
  {
    description: 'What `runSql` takes.',
    inputFields: (t) => ({
      databaseId: t.id({ required: true, description: 'The database.' }),
      statement: t.string({ required: true, description: 'One statement.' }),
      parameters: t.field({ type: 'JSON', description: 'A list of the values of `$1`, `$2` and so on.' }),
      isReadOnly: t.boolean({ description: 'Whether it may only read; false by default.' }),
    }),
  },
  {
    description: `Runs one statement in a database as its owner, and wakes the database for it. A result has at most ${limits.sqlResultBytes / 1024 / 1024} MiB, and it has ${limits.sqlSeconds} s. Requires the admin role. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE, INVALID_REQUEST, RATE_LIMITED, SERVICE_UNAVAILABLE, CLIENT_ACCESS_UNAVAILABLE where \`POST /sql\` is off; what Postgres refuses, a result that is too large, and a lost connection, after which the statement may have run, are in \`failure\`.`,
    resolve: (_, { input: { databaseId, ...statement } }, call): Promise<SqlOutcome> =>
      runSql(call, databaseId, statement),
  },
  {
    description: 'What `runSql` answers: one of the two.',
    outputFields: (t) => ({
      result: t.field({
        type: result,
        nullable: true,
        description: 'The result; null when Postgres refused the statement.',
        resolve: (outcome) => outcome.result,
      }),
      failure: t.field({
        type: failure,
        nullable: true,
        description: 'Why Postgres refused it; null when it did not.',
        resolve: (outcome) => outcome.failure,
      }),
    }),
  },
)
