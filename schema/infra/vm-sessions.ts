/** The caller's session and the system credentials in a VM, in GraphQL. */
import { builder } from '../builder.ts'
import { refreshSystem, removeSession, syncSession, type SessionChange } from '#src/resources/infra/vm-sessions.ts'

const sessionChange = builder.objectRef<SessionChange>('VmSessionChange').implement({
  description: 'What became of a request about a session or credentials in a VM.',
  fields: (t) => ({
    status: t.exposeString('status', {
      description: '`synced`, `removed`, `not_present`, `refreshed` or `unchanged`.',
    }),
    warning: t.exposeString('warning', { nullable: true, description: 'A sentence when there is something to know.' }),
  }),
})
const vmIdArgument = { required: true, description: 'The VM.' } as const

builder.mutationFields((t) => ({
  syncVmSession: t.field({
    type: sessionChange,
    description:
      'Writes a 15-minute token of the caller to /run/berth/session.json in the VM, in memory only. Errors: NOT_FOUND, INVALID_REQUEST.',
    args: { vmId: t.arg.id(vmIdArgument) },
    resolve: (_, { vmId }, call) => syncSession(call, vmId),
  }),
  removeVmSession: t.field({
    type: sessionChange,
    description: 'Removes the session from the VM. Errors: NOT_FOUND.',
    args: { vmId: t.arg.id(vmIdArgument) },
    resolve: (_, { vmId }, call) => removeSession(call, vmId),
  }),
  refreshVmSystemEnv: t.field({
    type: sessionChange,
    description:
      'Brings the VM’s system code-hosting credentials up to date. Errors: NOT_FOUND, VM_UNREACHABLE, SERVICE_UNAVAILABLE when it does not run.',
    args: { vmId: t.arg.id(vmIdArgument) },
    resolve: (_, { vmId }, call) => refreshSystem(call, vmId),
  }),
}))
