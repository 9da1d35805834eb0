/** Tunnels to ports of VMs, in GraphQL. What passes does so on the web socket /tunnel (docs/reference/tunnels.md). */
import { tunnelLimits } from '#src/platform/limits/tunnels.ts'
import { createTunnelTicket, openVmSsh } from '#src/resources/infra/tunnels/requests.ts'
import type { TunnelTicket } from '#src/resources/infra/tunnels/tickets.ts'
import { builder } from '../../builder.ts'

const ticketText = {
  description: `Opens one tunnel at the web socket /tunnel, once and within ${tunnelLimits.ticketSeconds} seconds. It is shown only this once.`,
  resolve: ({ ticket }: TunnelTicket) => ticket,
}
const ticketEnd = {
  type: 'DateTime',
  description: 'Until when the ticket holds.',
  resolve: ({ ticketExpiresAt }: TunnelTicket) => ticketExpiresAt,
} as const

builder.relayMutationField(
  'createTunnelTicket',
  {
    description: 'What `createTunnelTicket` takes.',
    inputFields: (t) => ({
      vmId: t.id({ required: true, description: 'The VM.' }),
      port: t.int({
        required: true,
        description:
          'A port of its loopback address, 1 to 65535. 22 is the SSH server of `user`, which `openVmSsh` starts.',
      }),
    }),
  },
  {
    description: `Makes a ticket for a tunnel to a port of a running VM; one that sleeps is woken. A VM has at most ${tunnelLimits.connectionsPerVm} open tunnels. Errors: INVALID_REQUEST, NOT_FOUND, RATE_LIMITED.`,
    resolve: (_, { input }, call) => createTunnelTicket(call, input),
  },
  {
    description: 'What `createTunnelTicket` answers.',
    outputFields: (t) => ({ ticket: t.string(ticketText), ticketExpiresAt: t.field(ticketEnd) }),
  },
)
builder.relayMutationField(
  'openVmSsh',
  {
    description: 'What `openVmSsh` takes.',
    inputFields: (t) => ({
      vmId: t.id({ required: true, description: 'The VM.' }),
      publicKey: t.string({
        required: true,
        description: `A public key, as a line of a \`.pub\` file: at most ${tunnelLimits.publicKeyLength} characters, without options.`,
      }),
    }),
  },
  {
    description:
      'Lets a public key in as `user` of a running VM, starts the SSH server there, and makes a ticket for a tunnel to it. A VM that sleeps is woken. Errors: INVALID_REQUEST, NOT_FOUND, VM_UNREACHABLE, TIMEOUT, RATE_LIMITED.',
    resolve: (_, { input }, call) => openVmSsh(call, input),
  },
  {
    description: 'What `openVmSsh` answers.',
    outputFields: (t) => ({
      user: t.string({ description: 'Who to log in as.', resolve: ({ user }) => user }),
      hostKey: t.string({
        description: 'The host key of the server: its type and its key, as a line of known_hosts has them.',
        resolve: ({ hostKey }) => hostKey,
      }),
      ticket: t.string(ticketText),
      ticketExpiresAt: t.field(ticketEnd),
    }),
  },
)
