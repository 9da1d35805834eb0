/** Who may do what with deployments and their runs: rows as in agents.ts. People only, and each their own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]

/** Every REST operation of deployments. */
export const deploymentsRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/deployments': { outcomes: lists('200') },
  'POST /agents/v1/deployments': {
    of: 'agent',
    outcomes: writes('201'),
    body: { name: 'x', agent: '{agent}', kickoff: 'x' },
  },
  'GET /agents/v1/deployments/{id}': { of: 'deployment', outcomes: reads('200') },
  'PATCH /agents/v1/deployments/{id}': { of: 'deployment', outcomes: writes('200'), body: { name: 'y' } },
  'POST /agents/v1/deployments/{id}': { of: 'deployment', outcomes: writes('200'), body: { name: 'y' } },
  'POST /agents/v1/deployments/{id}/pause': { of: 'deployment', outcomes: writes('200') },
  'POST /agents/v1/deployments/{id}/unpause': { of: 'deployment', outcomes: writes('200') },
  'POST /agents/v1/deployments/{id}/run': { of: 'deployment', outcomes: writes('202') },
  'GET /agents/v1/deployments/{id}/runs': { of: 'deployment', outcomes: reads('200') },
  'POST /agents/v1/deployments/{id}/archive': { of: 'deployment', outcomes: writes('200') },
  'DELETE /agents/v1/deployments/{id}': { of: 'deployment', outcomes: writes('204') },
  'GET /agents/v1/deployment_runs': { outcomes: lists('200') },
  'GET /agents/v1/deployment_runs/{id}': { of: 'deploymentRun', outcomes: reads('200') },
}

const deployment = 'id: "{deployment}"'

/** Every root field of GraphQL that deployments bring. */
export const deploymentsGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query deployment': { outcomes: reads('200'), args: deployment },
  'query deployments': { outcomes: lists('200'), args: 'first: 5' },
  'query deploymentRun': { outcomes: reads('200'), args: 'id: "{deploymentRun}"' },
  'query deploymentRuns': { outcomes: lists('200'), args: 'first: 5' },
  'mutation createDeployment': {
    outcomes: writes('200'),
    args: 'name: "x", agent: {agent: {id: "{agent}"}}, kickoff: {text: "x"}',
  },
  'mutation updateDeployment': { outcomes: writes('200'), args: `${deployment}, name: "y"` },
  'mutation pauseDeployment': { outcomes: writes('200'), args: deployment },
  'mutation resumeDeployment': { outcomes: writes('200'), args: deployment },
  'mutation runDeployment': { outcomes: writes('200'), args: deployment },
  'mutation archiveDeployment': { outcomes: writes('200'), args: deployment },
  'mutation deleteDeployment': { outcomes: writes('200'), args: deployment },
  'subscription deploymentRunEvents': { outcomes: reads('200'), args: 'deploymentId: "{deployment}", after: "0"' },
}
