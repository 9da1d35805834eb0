/** Who may do what with schedules: rows as in agents.ts. People only, and each their own. */
import type { GraphqlRow, Outcomes, RestRow } from '../matrix.ts'

const tooLittle = '403 not_permitted_for_role'
const absent = '404 not_found'
const noKeys = '401 unauthorized'
const reads = (yes: string): Outcomes => [yes, absent, absent, absent, noKeys, noKeys]
const writes = (yes: string): Outcomes => [yes, absent, tooLittle, absent, noKeys, noKeys]
const lists = (yes: string): Outcomes => [yes, yes, yes, yes, noKeys, noKeys]
const order = { cron: '0 9 * * *', timezone: 'Europe/Rome', agent: '{agent}', kickoff: 'Go.' }

/** Every REST operation of schedules. */
export const schedulesRows: Readonly<Record<string, RestRow>> = {
  'GET /agents/v1/schedules': { outcomes: lists('200') },
  'POST /agents/v1/schedules': { of: 'agent', outcomes: writes('201'), body: order },
  'GET /agents/v1/schedules/{id}': { of: 'agentSchedule', outcomes: reads('200') },
  'PATCH /agents/v1/schedules/{id}': { of: 'agentSchedule', outcomes: writes('200'), body: { enabled: false } },
  'DELETE /agents/v1/schedules/{id}': { of: 'agentSchedule', outcomes: writes('204') },
  'GET /agents/v1/schedules/{id}/runs': { of: 'agentSchedule', outcomes: reads('200') },
}

const schedule = 'id: "{agent_schedule}"'

/** Every root field of GraphQL that schedules bring. */
export const schedulesGraphqlRows: Readonly<Record<string, GraphqlRow>> = {
  'query schedule': { outcomes: reads('200'), args: schedule },
  'query schedules': { outcomes: lists('200'), args: 'first: 5' },
  'query scheduleRuns': { outcomes: reads('200'), args: 'scheduleId: "{agent_schedule}", first: 5' },
  'mutation createSchedule': {
    outcomes: writes('200'),
    args: 'cron: "0 9 * * *", timezone: "Europe/Rome", agent: {agent: {id: "{agent}"}}, kickoff: {text: "Go."}',
  },
  'mutation updateSchedule': { outcomes: writes('200'), args: `${schedule}, enabled: false` },
  'mutation deleteSchedule': { outcomes: writes('200'), args: schedule },
  'subscription scheduleEvents': { outcomes: reads('200'), args: 'scheduleId: "{agent_schedule}"' },
}
