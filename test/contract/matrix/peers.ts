/** Who may do what with exchanges between agents: rows as in agents.ts. People only, and each their own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]

/** Every REST operation of exchanges. */
export const peersRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/peer-exchanges/{id}': { of: 'exchange', outcomes: reads('200') },
  'POST /agents/v1/peer-exchanges/{id}/stop': { of: 'exchange', outcomes: writes('204') },
  'GET /agents/v1/peer-exchanges/{id}/attachment': { of: 'exchange', outcomes: reads('200') },
}

const exchange = 'id: "{exchange}"'

/** Every root field of GraphQL that exchanges bring. */
export const peersGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query peerExchange': { outcomes: reads('200'), args: exchange },
  'query peerExchanges': { outcomes: lists('200'), args: 'first: 5' },
  'mutation stopPeerExchange': { outcomes: writes('200'), args: exchange },
  'subscription peerExchangeEvents': { outcomes: reads('200'), args: 'peerExchangeId: "{exchange}"' },
}
