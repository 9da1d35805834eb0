/** Schedules over REST, and what became of their moments. */
import { limits } from '#src/platform/limits.ts'
import { pageInfo } from '../lists.ts'
import type { Routes } from '../routes.ts'

const schedule = `id type name cron timezone enabled: isEnabled kickoff: ownKickoff { text events: wireEvents } agent: ownAgentReference { type id version } deployment_id: deploymentId
  overlap last_run_at: lastRunAt next_run_at: nextRunAt upcoming_runs_at: upcomingRunsAt last_error: lastError
  created_at: createdAt updated_at: updatedAt`
const run = `id type schedule_id: scheduleId scheduled_at: scheduledAt status session_id: sessionId skip_reason: skipReason
  error { type message } message created_at: createdAt`
const list = { shape: 'page', most: limits.agentsListMax, usual: limits.agentsListMax } as const
const neverNull = ['name', 'cron', 'timezone', 'enabled', 'overlap', 'kickoff']

/** Schedules. */
export const scheduleRoutes: Routes = {
  'GET /v1/schedules': {
    status: 200,
    errors: [400],
    summary: 'The caller’s schedules, newest first',
    list,
    filter: { agent_id: 'agentId', deployment_id: 'deploymentId' },
    operation: `query listSchedules ($first: Int, $after: String, $filter: ScheduleFilter) {
      body: schedules(first: $first, after: $after, filter: $filter) { nodes { ${schedule} } ${pageInfo} } }`,
  },
  'POST /v1/schedules': {
    status: 201,
    errors: [400, 404, 409],
    neverNull: ['timezone'],
    summary: 'Creates a schedule',
    operation: `mutation createSchedule ($input: CreateScheduleInput!) { createSchedule(input: $input) { body: schedule { ${schedule} } } }`,
  },
  'GET /v1/schedules/{id}': {
    status: 200,
    errors: [404],
    summary: 'One schedule',
    operation: `query getSchedule ($id: ID!) { body: schedule(id: $id) { ${schedule} } }`,
  },
  'PATCH /v1/schedules/{id}': {
    status: 200,
    errors: [400, 404],
    neverNull,
    summary: 'Changes a schedule',
    operation: `mutation updateSchedule ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { body: schedule { ${schedule} } } }`,
  },
  'DELETE /v1/schedules/{id}': {
    status: 204,
    errors: [404],
    deletes: 'schedule',
    summary: 'Deletes a schedule with its runs',
    operation: 'mutation deleteSchedule ($input: DeleteScheduleInput!) { deleteSchedule(input: $input) { deletedId } }',
  },
  'GET /v1/schedules/{id}/runs': {
    status: 200,
    errors: [400, 404],
    additive: true,
    summary: 'What became of the moments of a schedule, newest first',
    list,
    into: { id: 'scheduleId' },
    operation: `query listScheduleRuns ($id: ID!, $first: Int, $after: String) {
      body: scheduleRuns(scheduleId: $id, first: $first, after: $after) { nodes { ${run} } ${pageInfo} } }`,
  },
}
