/** Who may do what with sessions and runs: rows as in agents.ts. People only, and each their own; a shared transcript is everybody's. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const makes = (yes: string): Outcomes => [yes, yes, tooLittle, yes, noKeys, noKeys]
/** What nobody is asked for credentials for: all ten callers get the same. */
export const notShared: Outcomes = [absent, absent, absent, absent, absent, absent]
/** The same in GraphQL, whose door refuses credentials that are wrong before it looks at what is asked. */
export const notSharedHere: Outcomes = [...notShared]

const message = { type: 'user.message', content: [{ type: 'text', text: 'x' }] }

/** Every REST operation of sessions and runs. */
export const sessionsRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/sessions': { outcomes: lists('200') },
  'POST /agents/v1/sessions': { of: 'agent', outcomes: writes('201'), body: { agent: '{agent}' } },
  'GET /agents/v1/sessions/{id}': { of: 'session', outcomes: reads('200') },
  'POST /agents/v1/sessions/{id}': { of: 'session', outcomes: writes('200'), body: { title: 'y' } },
  'DELETE /agents/v1/sessions/{id}': { of: 'session', outcomes: writes('204') },
  'POST /agents/v1/sessions/{id}/archive': { of: 'session', outcomes: writes('200') },
  'PUT /agents/v1/sessions/{id}/sharing': { of: 'session', outcomes: writes('200'), body: { shared: true } },
  'GET /agents/v1/shared-sessions/{id}': { of: 'session', outcomes: notShared },
  'PUT /agents/v1/sessions/{id}/seen': {
    of: 'session',
    outcomes: writes('200'),
    body: { through_event_id: '{event}' },
  },
  'GET /agents/v1/sessions/{id}/events': { of: 'session', outcomes: reads('200') },
  'POST /agents/v1/sessions/{id}/events': { of: 'session', outcomes: writes('200'), body: { events: [message] } },
  'GET /agents/v1/sessions/{id}/events/stream': { of: 'session', outcomes: reads('200') },
  'GET /agents/v1/sessions/{id}/resources': { of: 'session', outcomes: reads('200') },
  'POST /agents/v1/sessions/{id}/resources': {
    of: 'session',
    outcomes: writes('400 invalid_request'), // it has no VM
    body: { type: 'github_repository', url: 'https://example.com/a/b' },
  },
  'GET /agents/v1/sessions/{id}/resources/{rid}': { of: 'session', outcomes: reads('200') },
  'POST /agents/v1/sessions/{id}/resources/{rid}': {
    of: 'session',
    outcomes: writes('200'),
    body: { authorization_token: 'x' },
  },
  'DELETE /agents/v1/sessions/{id}/resources/{rid}': { of: 'session', outcomes: writes('204') },
  'POST /agents/v1/runs': { outcomes: makes('202'), body: { mode: 'chat', input: 'x' } },
}

const session = 'id: "{session}"'
const inSession = 'sessionId: "{session}"'
const resource = `${inSession}, id: "{rid}"`

/** Every root field of GraphQL that sessions and runs bring. */
export const sessionsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query session': { outcomes: reads('200'), args: session },
  'query sessions': { outcomes: lists('200'), args: 'first: 5' },
  'query sharedSession': { outcomes: notSharedHere, args: session },
  'query sessionEvents': { outcomes: reads('200'), args: `${inSession}, first: 5` },
  'mutation createSession': { outcomes: writes('200'), args: 'agentId: "{agent}"' },
  'mutation updateSession': { outcomes: writes('200'), args: `${session}, title: "y"` },
  'mutation archiveSession': { outcomes: writes('200'), args: session },
  'mutation deleteSession': { outcomes: writes('200'), args: session },
  'mutation setSessionSharing': { outcomes: writes('200'), args: `${session}, shared: true` },
  'mutation markSessionSeen': { outcomes: writes('200'), args: `${session}, throughEventId: "{event}"` },
  'mutation sendSessionEvents': {
    outcomes: writes('200'),
    args: `${inSession}, events: [{userInterrupt: true}]`,
  },
  'query sessionResource': { outcomes: reads('200'), args: resource },
  'query sessionResources': { outcomes: reads('200'), args: `${inSession}, first: 5` },
  'mutation addSessionResource': {
    outcomes: writes('400 invalid_request'), // it has no VM
    args: `${inSession}, type: GITHUB_REPOSITORY, url: "https://example.com/a/b"`,
  },
  'mutation updateSessionResource': { outcomes: writes('200'), args: `${resource}, authorizationToken: "x"` },
  'mutation removeSessionResource': { outcomes: writes('200'), args: resource },
  'mutation createRun': { outcomes: makes('200'), args: 'mode: CHAT' },
  'subscription sessionEvents': { outcomes: reads('200'), args: `${inSession}, after: "0"` },
  'subscription sessionStateChanged': { outcomes: reads('200'), args: 'sessionId: "{session}"' },
}
