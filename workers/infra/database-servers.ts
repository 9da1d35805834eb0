/** The server of a database, as its node sees it from inside the guest. */
import { buffer } from 'node:stream/consumers'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { setTimeout as pause } from 'node:timers/promises'

/** Runs statements as the superuser. @throws Error with what Postgres says. */
export async function runSql(
  machine: Machine,
  { database, sql, timeoutMs }: { database: string; sql: string; timeoutMs: number },
): Promise<string> {
  const argv = [
    'su',
    'postgres',
    '-s',
    '/bin/sh',
    '-c',
    `exec psql -X -q -A -t -v ON_ERROR_STOP=1 -1 -d ${database} -f -`,
  ]
  const channel = await machine.run({ argv, as: 'root', workingDir: '/', timeoutMs })
  channel.stdin.end(sql)
  const [out, wrong, { exitCode }] = await Promise.all([buffer(channel.stdout), buffer(channel.stderr), channel.exit])
  if (exitCode !== 0) throw new Error(wrong.toString().slice(0, 1000))
  return out.toString()
}

/** Waits until the server answers. @throws Error when it does not within this time. */
export async function waitForServer(machine: Machine, limitMs: number): Promise<void> {
  const until = performance.now() + limitMs
  for (;;) {
    try {
      await runSql(machine, { database: 'postgres', sql: 'select 1', timeoutMs: 10_000 })
      return
    } catch (error) {
      if (performance.now() > until) throw error
      await pause(100)
    }
  }
}
