/** The events of a custom domain in GraphQL. */
import { builder } from '../builder.ts'
import { heartbeat, withHeartbeats } from '../heartbeats.ts'
import { encodeId } from '#src/platform/ids.ts'
import { followDomain } from '#src/resources/infra/domains/events.ts'
import type { DomainEvent } from '#src/resources/infra/domains/rows.ts'
import { domainStatus, domainType } from './domains.ts'

const domainEvent = builder.objectRef<DomainEvent>('DomainEvent').implement({
  description: 'The state of a domain after a change.',
  isTypeOf: (value) => typeof value === 'object' && value !== null && 'position' in value,
  fields: (t) => ({
    cursor: t.string({
      description: 'Pass it as `after` to resume after this event.',
      resolve: (event) => String(event.position),
    }),
    domainId: t.id({ description: 'Which domain.', resolve: (event) => encodeId('domain', event.domainId) }),
    domain: t.field({
      type: domainType,
      nullable: true,
      description: 'The domain as it is now; null once it is deleted.',
      resolve: (event) => event.domainId,
    }),
    status: t.field({
      type: domainStatus,
      description: 'Its status after this event.',
      resolve: ({ status }) => status,
    }),
    statusReason: t.exposeString('statusReason', { nullable: true, description: 'Why it had failed.' }),
    target: t.exposeString('target', {
      nullable: true,
      description: 'What it led to: `vm:<id>:<port>`, `function:<id>`, or null.',
    }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When it happened.' }),
  }),
})

const domainEventOrHeartbeat = builder.unionType('DomainEventOrHeartbeat', {
  description: 'An event of a domain, or a heartbeat.',
  types: [domainEvent, heartbeat],
})

builder.subscriptionFields((t) => ({
  domainEvents: t.field({
    type: domainEventOrHeartbeat,
    description:
      'A domain’s events: those after the cursor (without a cursor, its current state), then live ones, until it is deleted. Errors: INVALID_DOMAIN, NOT_FOUND, FORBIDDEN.',
    args: {
      domainId: t.arg.id({ required: true, description: 'Its name or its id.' }),
      after: t.arg.string({ description: 'The cursor of the last event seen.' }),
    },
    subscribe: async (_, { domainId, after }, call) => withHeartbeats(await followDomain(call, domainId, after)),
    resolve: (event) => event as never, // isTypeOf of the union's members tells them apart
  }),
}))
