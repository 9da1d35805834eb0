/** The caller's session and the system credentials in a VM, in GraphQL. */
import { builder, type Context } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { decodeId } from '#src/platform/ids.ts'
import { refreshSystem, removeSession, syncSession, type SessionChange } from '#src/resources/infra/vm-sessions.ts'
import { vmType } from './vms.ts'

const changeStatus = enumOf(
  'VmSessionStatus',
  'The outcome of a request about the session or the credentials in a VM.',
  {
    synced: 'The session was written.',
    removed: 'The session was removed.',
    not_present: 'There was no session.',
    refreshed: 'The credentials were refreshed.',
    unchanged: 'There was nothing to refresh.',
  },
)

function sessionMutation(
  name: string,
  description: string,
  resolve: (call: Context, vmId: string) => Promise<SessionChange>,
): void {
  builder.relayMutationField(
    name,
    {
      description: `What \`${name}\` takes.`,
      inputFields: (t) => ({ vmId: t.id({ required: true, description: 'The VM.' }) }),
    },
    {
      description,
      resolve: async (_, { input: { vmId } }, call) => ({ vmId, ...(await resolve(call, vmId)) }),
    },
    {
      description: `What \`${name}\` answers.`,
      outputFields: (t) => ({
        vmId: t.exposeID('vmId', { description: 'The VM.' }),
        vm: t.field({
          type: vmType,
          nullable: true,
          description: 'The VM.',
          resolve: ({ vmId }) => decodeId('vm', vmId),
        }),
        status: t.field({
          type: changeStatus,
          description: 'The outcome.',
          resolve: ({ status }) => status,
        }),
        warning: t.exposeString('warning', {
          nullable: true,
          description: 'A sentence with more about the outcome, when there is more.',
        }),
      }),
    },
  )
}

sessionMutation(
  'syncVmSession',
  'Writes a 15-minute token of the caller to /run/berth/session.json in the VM, in memory only. Errors: NOT_FOUND, INVALID_REQUEST.',
  syncSession,
)
sessionMutation('removeVmSession', 'Removes the session from the VM. Errors: NOT_FOUND.', removeSession)
sessionMutation(
  'refreshVmSystemEnv',
  'Brings the VM’s system code-hosting credentials up to date. Errors: NOT_FOUND, VM_UNREACHABLE, SERVICE_UNAVAILABLE when it does not run.',
  refreshSystem,
)
