/** The logs of builds in GraphQL, and the secrets that are masked in them. */
import { findInTurn, readInTurn } from '../../large-reads.ts'
import { builder } from '../../builder.ts'
import { encodeId } from '#src/platform/ids.ts'
import { callIn, organizationType } from '../../identity/organizations.ts'
import { mutationOf } from '../../mutations.ts'
import { heartbeat, withHeartbeats } from '../../heartbeats.ts'
import type { LogEntry } from '#src/resources/infra/builds/log-hubs.ts'
import { followLog, listLog } from '#src/resources/infra/builds/log-readers.ts'
import { roleType } from '#schema/identity/members.ts'
import {
  deleteBuildSecret,
  listBuildSecrets,
  setBuildSecret,
  type BuildSecret,
} from '#src/resources/infra/builds/secrets.ts'

import { buildType } from '../builds.ts'

const logEntry = builder.objectRef<LogEntry>('BuildLogEntry').implement({
  description: 'A chunk of a build’s output.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'output' in value,
  fields: (t) => ({
    id: t.exposeID('id', { description: '`<unix ms>-<seq>`; resumes the log after this entry.' }),
    output: t.exposeString('output', {
      description: 'The output as it was printed, 16 KiB at most; secrets are masked as `***`.',
    }),
    isDone: t.exposeBoolean('done', { description: 'True for the last entry, which has no output.' }),
  }),
})
const entryOrHeartbeat = builder.unionType('BuildLogEntryOrHeartbeat', {
  description: 'An entry of a build’s log, or a heartbeat.',
  types: [logEntry, heartbeat],
})

const buildSecret = builder.objectRef<BuildSecret>('BuildSecret').implement({
  description: 'A secret of the organization for its builds. Its value is never shown.',
  fields: (t) => ({
    name: t.exposeString('name', {
      description: 'Its name: in a spec’s `secrets`, and as the environment variable of the build’s commands.',
    }),
    leastRole: t.field({
      type: roleType,
      description: 'The lowest role whose builds may use it; API keys count as members.',
      resolve: (one) => one.leastRole,
    }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it was last set.' }),
  }),
})
const buildIdArgument = { required: true, description: 'The build.' } as const
const nameArgument = { required: true, description: 'Letters, digits and underscores, at most 128.' } as const

builder.objectField(buildType, 'log', (t) =>
  t.field({
    type: [logEntry],
    nullable: true,
    description: 'The last entries of its log, oldest first; from 24 hours after the build, only its last 200 lines.',
    args: { limit: t.arg.int({ description: '1 to 5000; 500 by default.' }) },
    resolve: (build, { limit }, call, info) =>
      readInTurn(call, info, async () => {
        const loaded = await listLog(call, encodeId('build', build.id), limit)
        return { loaded, bytes: loaded.reduce((sum, { output }) => sum + output.length, 0) }
      }),
  }),
)
builder.queryFields((t) => ({
  buildSecrets: t.field({
    type: [buildSecret],
    description: 'The active organization’s build secrets, ordered by name.',
    resolve: (_, _arguments, call) => listBuildSecrets(call),
  }),
}))
builder.objectField(organizationType, 'buildSecrets', (t) =>
  t.field({
    type: [buildSecret],
    nullable: true,
    description: 'Its build secrets, ordered by name.',
    resolve: (organization, _, call, info) =>
      findInTurn(call, info, async () => listBuildSecrets(callIn(call, organization))),
  }),
)

mutationOf(
  'setBuildSecret',
  { field: 'buildSecret', type: buildSecret },
  'Sets a secret that specs may name. Requires the admin role. Errors: INVALID_ENV_KEY, INVALID_ENV_VALUE, INVALID_REQUEST, NOT_PERMITTED_FOR_ROLE.',
  (t) => ({
    name: t.string(nameArgument),
    value: t.string({ required: true, description: 'Never shown again.' }),
    leastRole: t.field({
      type: roleType,
      description:
        'The lowest role whose builds may use it: `MEMBER` (includes API keys), `ADMIN` or `OWNER`. If omitted it stays as it is; `ADMIN` for a new secret. A build’s commands can print what they are given.',
    }),
  }),
  (call, { name, value, leastRole }) => setBuildSecret(call, name, value, leastRole),
)
builder.relayMutationField(
  'deleteBuildSecret',
  { description: 'What `deleteBuildSecret` takes.', inputFields: (t) => ({ name: t.string(nameArgument) }) },
  {
    description: 'Deletes a secret. Requires the admin role. Errors: NOT_FOUND, NOT_PERMITTED_FOR_ROLE.',
    resolve: async (_, { input: { name } }, call) => (await deleteBuildSecret(call, name), { deletedName: name }),
  },
  {
    description: 'What `deleteBuildSecret` answers.',
    outputFields: (t) => ({
      deletedName: t.exposeString('deletedName', { description: 'The name of the deleted secret.' }),
    }),
  },
)

builder.subscriptionFields((t) => ({
  buildLogEvents: t.field({
    type: entryOrHeartbeat,
    description:
      'A build’s log, live, until its last entry. Errors: NOT_FOUND, FORBIDDEN, and LOG_OVER when nothing follows the cursor.',
    args: {
      buildId: t.arg.id(buildIdArgument),
      after: t.arg.string({
        description: 'The id of the last entry seen; `0` for the beginning; by default only what is new.',
      }),
    },
    subscribe: async (_, { buildId, after }, call) => withHeartbeats(await followLog(call, buildId, after)),
    resolve: (entry) => entry as never, // isTypeOf of the union's members tells them apart
  }),
}))
