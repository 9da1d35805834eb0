/** Machines in GraphQL: what runs VMs. They belong to whoever runs this Berth. */
import { builder } from '../builder.ts'
import { enumOf } from '../enums.ts'
import { nodeOf } from '../nodes.ts'
import { findMachines } from '#src/resources/infra/nodes.ts'

const acceleration = enumOf('Acceleration', 'How a machine runs the processors of its VMs.', {
  kvm: 'On its own processors.',
  emulation: 'In software, many times slower.',
})

/** A machine. */
export const machineType = nodeOf('Machine', '`node_` and 26 characters.', findMachines)

builder.objectType(machineType, {
  description: 'What runs VMs: a computer of whoever runs this Berth. It is everybody’s.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    acceleration: t.field({
      type: acceleration,
      nullable: true,
      description: 'How it runs processors; null while it is not known.',
      resolve: (machine) => machine.acceleration,
    }),
    unavailableReason: t.exposeString('unavailableReason', {
      nullable: true,
      description: 'Why it takes no VMs now, as a sentence; null when it does.',
    }),
    lastSeenAt: t.expose('heartbeatAt', { type: 'DateTime', description: 'When its worker last said that it lives.' }),
  }),
})
