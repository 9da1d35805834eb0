/** A Berth without a worker whose models for embeddings are a mock's, and people with memories in it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noMasker, type Masker } from '#src/platform/masking.ts'
import { newUuid } from '#src/platform/ids.ts'
import { findAll, getOne, sql } from '#src/platform/postgres.ts'
import type { Background } from '#src/platform/services.ts'
import { memoryModel, type MemoryModel } from '#src/resources/agents/memories/model.ts'
import { runMemoryTool, type RememberingSession } from '#src/resources/agents/memories/tools.ts'
import type { ToolResult } from '#src/resources/agents/tools/results.ts'
import { findSpacesWithoutVectors, makeVectors, type TurnEnd } from '#src/resources/agents/memories/vectors.ts'
import { writeModels } from '../../llm/chat-makers.ts'
import { callAgents } from '../../support/agents-service.ts'
import { startBerth, type Berth } from '../../support/berth.ts'
import { idsOf } from '../../support/makers.ts'
import { startMockUpstream, type MockUpstream } from '../../support/mock-upstream.ts'
import { makeSessionRow } from '../../support/sessions.ts'

/** A space as far as vectors are concerned. `seconds`: until the next turn. */
export type SpaceState = { position: number; made: number; failures: number; seconds: number | null }

type Question = [token: string, query: string, model?: string | null, masker?: Masker]

/** The world. Its web process has the built-in model; `of` gives the services of a worker with another one. */
export type MeaningWorld = {
  berth: Berth
  mock: MockUpstream
  of: (model: string | null) => Background
  /** Keeps one; its public id. */
  keep: (token: string, body: string, more?: Record<string, unknown>) => Promise<string>
  /** Turns until nothing is left, or something must be waited for. @returns the last end, and how many there were. */
  make: (token: string, model?: string, services?: Background) => Promise<{ end: TurnEnd; turns: number }>
  /** The bodies that have a vector which is used, of the token's person and what their organization shares. */
  withVectors: (token: string) => Promise<string[]>
  state: (token: string) => Promise<SpaceState>
  /** What the tool of an agent of this person answers, and the bodies in it. */
  ask: (...question: Question) => Promise<ToolResult>
  recall: (...question: Question) => Promise<string[]>
  stop: () => Promise<void>
}

/** The model that knows words and parts of them. */
export const builtIn = 'berth/demo-embeddings'

/** Starts one. */
export async function startMeaningWorld(): Promise<MeaningWorld> {
  const mock = await startMockUpstream()
  const folder = mkdtempSync(join(tmpdir(), 'berth-meaning-'))
  const berth = await startBerth({
    settings: {
      BERTH_RATE_LIMIT_FACTOR: '100',
      BERTH_MODELS_FILE: writeModels(folder, mock.url),
      BERTH_MEMORY_MODEL: builtIn,
    },
  })
  const { db } = berth.services
  const of = (model: string | null): Background => ({
    ...berth.services,
    config: { ...berth.services.config, memoryModel: model },
  })
  const never = new AbortController().signal
  const ask: MeaningWorld['ask'] = async (token, query, model = builtIn, masker = noMasker) => {
    const session = await getOne<RememberingSession>(
      db,
      sql`select * from sessions where id = ${await makeSessionRow(db, token)}`,
    )
    return runMemoryTool(of(model), session, { id: newUuid(), name: 'recall', input: { query } }, masker, never)
  }
  return {
    berth,
    mock,
    of,
    async keep(token, body, more = {}) {
      const sent = { body, idempotency_key: newUuid(), ...more }
      const answer = await callAgents<{ id: string }>(berth, token, 'POST', '/memories', sent)
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
      return answer.body.id
    },
    async make(token, name = builtIn, services = of(name)) {
      const model = modelOf(services)
      const { organizationId } = idsOf(token)
      const spaces = await findAll<{ id: string }>(
        db,
        sql`select id from memory_spaces where organization_id = ${organizationId} order by owner_user_id nulls last`,
      )
      let [end, turns]: [TurnEnd, number] = ['nothing', 0]
      for (const { id } of spaces) {
        do {
          end = await makeVectors(services, model, id, never)
          turns += 1
        } while (end === 'more')
      }
      return { end, turns }
    },
    async withVectors(token) {
      const { organizationId, userId } = idsOf(token)
      const found = await findAll<{ body: string }>(
        db,
        sql`select body from memories m join memory_vectors v on v.memory_id = m.id and v.revision = m.revision and v.vector is not null
          where organization_id = ${organizationId} and (owner_user_id is null or owner_user_id = ${userId}) order by m.id`,
      )
      return found.map(({ body }) => body)
    },
    async state(token) {
      const { organizationId, userId } = idsOf(token)
      return getOne<SpaceState>(
        db,
        sql`select event_position as position, vectors_position as made, vectors_failures as failures,
          extract(epoch from vectors_not_before - now())::float8 as seconds
          from memory_spaces where organization_id = ${organizationId} and owner_user_id = ${userId}`,
      )
    },
    ask,
    async recall(...question) {
      const { text } = await ask(...question)
      return text
        .split('\n')
        .slice(1)
        .map((line) => (JSON.parse(line) as { body: string }).body)
    },
    async stop() {
      await berth.stop()
      await mock.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The model of these services, which have one. */
export function modelOf(services: Background): MemoryModel {
  const model = memoryModel(services.config)
  if (!model) throw new Error('these services have no model for memories')
  return model
}

/** The spaces that may have their turn now. */
export function dueSpaces(services: Background): Promise<string[]> {
  return findSpacesWithoutVectors(services.db, modelOf(services))
}
