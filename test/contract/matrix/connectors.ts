/**
 * Who may do what with connectors: rows as in agents.ts. People only. `{connector}` is in everybody's catalog, and the
 * owner has a connection to it, to an address at which it no longer is.
 */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, yes, tooLittle, yes, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const everybody = (yes: string): Outcomes => [yes, yes, yes, yes, yes, yes]
const [callback, document] = [everybody('400 invalid_code'), everybody('200')]

/** Two addresses that browsers and authorization servers open: all ten callers get the same. */
export const openPages: readonly Outcomes[] = [callback, document]

const state = 'x'.repeat(43)

/** Every REST operation of connectors. */
export const connectorsRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/mcp-services': { outcomes: lists('200') },
  'POST /agents/v1/mcp-services/{id}/connect/start': {
    of: 'connector',
    sameForAll: true,
    outcomes: makes('400 invalid_request'),
    body: { return_url: 'https://elsewhere.example.com/' },
  },
  'POST /agents/v1/mcp-services/connect/complete': { outcomes: makes('400 invalid_code'), body: { code: 'x', state } },
  'DELETE /agents/v1/mcp-services/{id}/connection': { of: 'connector', outcomes: writes('204') },
  'GET /agents/v1/mcp-services/{id}/tools': {
    of: 'connector',
    sameForAll: true,
    outcomes: lists('400 provider_not_connected'),
  },
  'PUT /agents/v1/mcp-services/{id}/tool-selection': {
    of: 'connector',
    sameForAll: true,
    outcomes: makes('200'),
    body: { disabled_tools: ['x'] },
  },
  'GET /agents/v1/mcp-services/callback/{id}': { of: 'connector', outcomes: callback },
  'GET /agents/v1/mcp-services/{id}/client.json': { of: 'connector', sameForAll: true, outcomes: document },
}

const connector = 'id: "linear"' // as in the target

/** Every root field of GraphQL that connectors bring. */
export const connectorsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query mcpService': { outcomes: lists('200'), args: connector },
  'query mcpServices': { outcomes: lists('200'), args: 'first: 2' },
  'query mcpServiceTools': { outcomes: lists('400 provider_not_connected'), args: 'mcpServiceId: "linear"' },
  'mutation startMcpSignIn': {
    outcomes: makes('400 invalid_request'),
    args: `${connector}, returnUrl: "https://elsewhere.example.com/"`,
  },
  'mutation completeMcpSignIn': { outcomes: makes('400 invalid_code'), args: `code: "x", state: "${state}"` },
  'mutation disconnectMcpService': { outcomes: writes('200'), args: connector },
  'mutation selectMcpTools': { outcomes: makes('200'), args: `${connector}, disabledTools: ["x"]` },
  'subscription mcpServiceEvents': { outcomes: lists('400 invalid_request'), args: 'after: "x"' }, // others have no events, and would wait for one
}
