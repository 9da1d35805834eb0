/** A complete Berth for a test: the web process's app with the real schema and paths and, on request, a worker with real VMs. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerSurfaces } from '#rest-compat/surfaces.ts'
import { schema } from '#schema/schema.ts'
import { readConfig } from '#src/platform/config.ts'
import { openServices, type Services } from '#src/platform/services.ts'
import type { Worker } from '#workers/worker.ts'
import { startApp, type RunningApp } from '../gateway/running-app.ts'
import type { TestPostgres } from './postgres.ts'
import { endQemus } from './qemu-processes.ts'

/** The answer of a REST path. */
export type Answer<Body> = { status: number; headers: Headers; body: Body }

/** A Berth that listens. */
export type Berth = RunningApp & {
  /** Calls a REST path; the body is read as JSON when there is one: of lines of JSON the first. */
  call: <Body = Record<string, unknown>>(
    method: string,
    path: string,
    options?: { token?: string; body?: unknown; headers?: Record<string, string> },
  ) => Promise<Answer<Body>>
  worker: Worker | null
  workerServices: Services | null
  dataDir: string
}

/** Where no name server is: no test asks the real DNS. */
const nobody = '127.0.0.1:1'

/** Starts one, on a Postgres of its own when one is given. With `worker` it also runs VMs, with that many kept warm. */
export async function startBerth({
  worker = false,
  pool = 1,
  settings = {},
  on,
}: {
  worker?: boolean
  pool?: number
  settings?: Record<string, string>
  on?: TestPostgres
} = {}): Promise<Berth> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-'))
  chmodSync(dataDir, 0o711) // QEMU runs as another user when we are root
  const ours = { BERTH_DATA_DIR: dataDir, BERTH_VM_POOL: String(pool), BERTH_DNS_SERVERS: nobody, ...settings }
  const app = await startApp({ schema, surfaces: registerSurfaces, settings: ours, ...(on ? { on } : {}) })
  const workerServices = worker
    ? await openServices(
        readConfig({ PORT: String(app.port), BERTH_LOG_LEVEL: 'error', ...ours }),
        app.services.database.url,
        'worker',
      )
    : null
  // Imported late: most tests need no VM, and the driver loads the SSH library.
  const started = workerServices ? await (await import('#workers/worker.ts')).startWorker(workerServices) : null
  return {
    ...app,
    dataDir,
    worker: started,
    workerServices,
    async call(method, path, { token, body, headers = {} } = {}) {
      const answer = await fetch(app.url + path, {
        method,
        headers: {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      })
      const whole = await answer.text()
      const isLines = answer.headers.get('content-type')?.startsWith('application/x-ndjson') ?? false
      const text = isLines ? whole.slice(0, Math.max(0, whole.indexOf('\n'))) : whole
      return { status: answer.status, headers: answer.headers, body: (text ? JSON.parse(text) : null) as never } // the test says what it expects
    },
    async stop() {
      if (started?.compute)
        for (const resident of await started.compute.residents()) await started.compute.destroy(resident.id)
      await started?.stop()
      await workerServices?.close()
      await app.stop()
      if (started) await endQemus(app.services.config.dataDir) // a machine may still have been starting when the others were destroyed
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
