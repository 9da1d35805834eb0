/** Machines in GraphQL: the hosts that run VMs. They belong to the operator. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { nodeOf } from '../nodes.ts'
import { connectionOf, pageArguments } from '../pages.ts'
import { findMachines, pageMachines } from '#src/resources/infra/nodes.ts'

const acceleration = enumOf('Acceleration', 'How a machine runs its VMs.', {
  kvm: 'With hardware virtualization (KVM).',
  emulation: 'In software emulation, several times slower.',
})

/** A machine. */
export const machineType = nodeOf('Machine', findMachines)

builder.objectType(machineType, {
  description: 'A host that runs VMs. It belongs to the operator of this installation, and every organization sees it.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    acceleration: t.field({
      type: acceleration,
      nullable: true,
      description: 'How it runs VMs; null while that is not known.',
      resolve: (machine) => machine.acceleration,
    }),
    unavailableReason: t.exposeString('unavailableReason', {
      nullable: true,
      description: 'Why it accepts no VMs now, as a sentence; null when it does.',
    }),
    lastSeenAt: t.expose('heartbeatAt', { type: 'DateTime', description: 'When its worker last sent a heartbeat.' }),
  }),
})

const machineConnection = connectionOf('Machine', machineType)

builder.queryFields((t) => ({
  machines: t.field({
    type: machineConnection,
    description: 'The hosts of this installation, oldest first. Requires the admin role.',
    args: pageArguments,
    resolve: (_, window, call) => pageMachines(call, window),
  }),
}))
