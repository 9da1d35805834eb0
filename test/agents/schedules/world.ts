/** What tests of schedules share: a Berth without a worker, an agent, and schedules that are made due. */
import { decodeId } from '#src/platform/ids.ts'
import { change, getOne, sql } from '#src/platform/postgres.ts'
import { createScheduleFiring } from '#src/resources/agents/schedules/firing.ts'
import type { Answer, Berth } from '../../support/berth.ts'
import { callAgents, startWithAgent } from '../../support/agents-service.ts'

/** A schedule as REST shows it. */
export type Shown = {
  id: string
  cron: string
  enabled: boolean
  kickoff: { text?: string; events: unknown[] } | null
  agent: { type: string; id: string; version: number | null } | null
  next_run_at: string | null
  upcoming_runs_at: string[]
  last_error: string | null
  error: { code: string; message: string }
  data: Shown[]
}
/** A run as REST shows it. */
export type Run = {
  id: string
  scheduled_at: string
  status: string
  session_id: string | null
  skip_reason: string | null
  error: { type: string; message: string } | null
  message: string | null
}

/** A Berth, an agent of alice's, and what tests do with schedules. */
export type ScheduleWorld = {
  berth: Berth
  token: string
  agent: string
  call(method: string, path: string, body?: unknown, as?: string): Promise<Answer<Shown>>
  /** Makes a schedule of the agent; by default for a moment that does not come. */
  make(fields?: object, as?: string): Promise<Shown>
  /** Makes its next moment one that was so many seconds ago. */
  makeDue(id: string, secondsAgo?: number): Promise<void>
  /** Fires what is due, in one process or in several at once. */
  fire(processes?: number): Promise<void>
  shown(id: string): Promise<Shown>
  /** Its runs, newest first. */
  runs(id: string): Promise<Run[]>
  /** Ends the turns of all sessions, as a worker would. */
  endTurns(): Promise<void>
  /** How many sessions schedules have started. */
  countSessions(): Promise<number>
}

/** Makes one. */
export async function startScheduleWorld(): Promise<ScheduleWorld> {
  const { berth, token, agent } = await startWithAgent()
  const { db } = berth.services
  const call: ScheduleWorld['call'] = async (method, path, body, as) =>
    // Always a new token: tests move the clock by years.
    callAgents<Shown>(berth, as ?? (await berth.token('alice', 'acme', 'owner')), method, `/schedules${path}`, body)
  return {
    berth,
    token,
    agent,
    call,
    async make(fields = {}, as) {
      const usual = { cron: '0 3 1 1 *', timezone: 'UTC', agent, kickoff: 'Look around.' }
      const { status, body } = await call('POST', '', { ...usual, ...fields }, as)
      if (status !== 201) throw new Error(`a schedule was not made: ${JSON.stringify(body)}`)
      return body
    },
    async makeDue(id, secondsAgo = 15) {
      await change(
        db,
        sql`update schedules set next_run_at = date_trunc('second', now()) - ${secondsAgo} * interval '1 second' where id = ${decodeId('schedule', id)}`,
      )
    },
    async fire(processes = 1) {
      await Promise.all(Array.from({ length: processes }, () => createScheduleFiring(berth.services).fireDue()))
    },
    shown: async (id) => (await call('GET', `/${id}`)).body,
    runs: async (id) => (await call('GET', `/${id}/runs`)).body.data as unknown as Run[],
    async endTurns() {
      await change(db, sql`update sessions set status = 'idle', running_since = null where status = 'running'`)
    },
    countSessions: async () =>
      (await getOne<{ count: number }>(db, sql`select count(*) from sessions where source = 'schedule'`)).count,
  }
}
