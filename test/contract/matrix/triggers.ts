/** Who may do what with triggers: rows as in agents.ts. People only, and each their own; a webhook is let in by its signature. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
/** Only a signature lets anybody in: all ten callers get the same. */
export const signedHook: Outcomes = [noKeys, noKeys, noKeys, noKeys, noKeys, noKeys]

/** The setting with which nobody needs an account at a code host: none is there. */
export const triggerSettings = { GITHUB_WEBHOOK_ORGANIZATIONS: 'acme,evil' }

/** Every REST operation of triggers. */
export const triggersRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/triggers': { outcomes: lists('200') },
  'POST /agents/v1/triggers': {
    of: 'agent',
    outcomes: writes('201'),
    body: { agent: '{agent}', repo: 'octocat/{fresh}', events: ['push'] },
  },
  'GET /agents/v1/triggers/{id}': { of: 'trigger', outcomes: reads('200') },
  'PATCH /agents/v1/triggers/{id}': { of: 'trigger', outcomes: writes('200'), body: { enabled: false } },
  'POST /agents/v1/triggers/{id}': { of: 'trigger', outcomes: writes('200'), body: { enabled: false } },
  'DELETE /agents/v1/triggers/{id}': { of: 'trigger', outcomes: writes('204') },
  'GET /agents/v1/triggers/{id}/fires': { of: 'trigger', outcomes: reads('200') },
  'POST /agents/v1/hooks/github': { outcomes: signedHook, body: {} },
}

const trigger = 'id: "{trigger}"'

/** Every root field of GraphQL that triggers bring. */
export const triggersGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query trigger': { outcomes: reads('200'), args: trigger },
  'query triggers': { outcomes: lists('200'), args: 'first: 5' },
  'query triggerFire': { outcomes: reads('200'), args: 'id: "{fire}"' },
  'query triggerFires': { outcomes: reads('200'), args: 'triggerId: "{trigger}", first: 5' },
  'mutation createTrigger': {
    outcomes: writes('200'),
    args: 'agent: {agent: {id: "{agent}"}}, repo: "octocat/{fresh}", events: [PUSH]',
  },
  'mutation updateTrigger': { outcomes: writes('200'), args: `${trigger}, enabled: false` },
  'mutation tryTrigger': { outcomes: writes('200'), args: `${trigger}, event: "push", payload: {}` },
  'mutation deleteTrigger': { outcomes: writes('200'), args: trigger },
  'subscription triggerFireEvents': { outcomes: reads('200'), args: 'triggerId: "{trigger}"' },
}
