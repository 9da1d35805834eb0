/** How the commands answer words: help says and does nothing, unknown words are refused; what a start says while it waits; how log lines look. */
import { describe, expect, test } from 'vitest'
import { prettyLine } from '#src/platform/logs/lines.ts'
import { placeOf } from '#src/start/external-database.ts'
import { startCommand } from './support/command.ts'
import { freePort } from './support/ports.ts'
import { createDatabase } from './support/postgres.ts'

const commands = [
  'src/start.ts',
  'src/stop.ts',
  'src/doctor.ts',
  'src/backup.ts',
  'src/restore.ts',
  'src/platform/migrate.ts',
  'schema/print.ts',
  'src/identity/token.ts',
  'src/identity/key.ts',
  'src/identity/credits.ts',
  'src/identity/member.ts',
  'src/identity/rotate-keys.ts',
  'src/edge/ca.ts',
]

describe('every command', () => {
  // Settings that would stop it, were it to begin.
  const settings = { BERTH_NOT_A_SETTING: '1', DATABASE_URL: 'postgres://nobody:s3cr3t@127.0.0.1:1/none' }

  test.each(commands)('%s shows its usage for --help and does nothing', async (path) => {
    const { ended, lines } = startCommand([path, '--help'], settings)
    expect([await ended, lines.join('\n')]).toEqual([0, expect.stringMatching(/npm (?:start|stop|run)/)])
    expect(lines.join('\n')).not.toMatch(/\bat .*:\d+:\d+|Berth cannot start/)
  })

  test.each(commands)('%s refuses unknown arguments, and shows its usage', async (path) => {
    const { ended, lines } = startCommand([path, '--no-such-word'], settings)
    expect([await ended, lines.join('\n')]).toEqual([2, expect.stringMatching(/npm (?:start|stop|run)/)])
    expect(lines.join('\n')).not.toMatch(/\bat .*:\d+:\d+/)
  })
})

describe('a start whose database does not answer', () => {
  test('says at once where it looks, and again every few seconds with the reason, but never the password', async () => {
    const port = await freePort()
    const { child, line, lines, ended } = startCommand(['src/start.ts', '--without-vms'], {
      PORT: String(await freePort()),
      DATABASE_URL: `postgres://berth:s3cr3t@127.0.0.1:${port}/berth?password=als0s3cr3t`,
      BERTH_DATA_DIR: `/tmp/berth-dead-${port}`,
    })
    expect(await line(/Connecting to the database/)).toBe(
      `Connecting to the database of DATABASE_URL at 127.0.0.1:${port}, database berth.`,
    )
    expect(await line(/does not answer yet/)).toMatch(
      new RegExp(
        `at 127\\.0\\.0\\.1:${port}, database berth does not answer yet \\(.*ECONNREFUSED.*\\); trying for 30 s in all`,
      ),
    )
    child.kill('SIGKILL')
    await ended
    expect(lines.join('\n')).not.toContain('s3cr3t')
  })

  test('names a host, a port and a database, whatever else the address holds', () => {
    expect(placeOf('postgres://a:b@db.example:6000/name?password=c')).toBe('db.example:6000, database name')
    expect(placeOf('postgresql://db.example')).toBe('db.example:5432')
    expect(placeOf('postgres:///name?host=/run/postgresql')).toBe('its socket, database name')
  })
})

describe('log lines', () => {
  test('are JSON outside a terminal, and in readable form on request', async () => {
    const database = await createDatabase()
    try {
      const logged = async (format: string): Promise<string> => {
        const { ended, lines } = startCommand(['src/platform/migrate.ts'], {
          DATABASE_URL: database.url,
          BERTH_LOG_FORMAT: format,
        })
        expect(await ended).toBe(0)
        return lines.join('\n')
      }
      for (const format of ['auto', 'json'])
        expect(JSON.parse(await logged(format))).toMatchObject({ level: 30, ran: [], msg: 'nothing to migrate' })
      expect(await logged('pretty')).toMatch(/^\d\d:\d\d:\d\d info +nothing to migrate ran=\[\]$/)
    } finally {
      await database.drop()
    }
  })

  test('in readable form have the stack of an error below, and cannot control the terminal', () => {
    const line = (fields: object): string =>
      prettyLine(`${JSON.stringify({ level: 50, time: '2026-01-02T03:04:05.678Z', ...fields })}\n`)
    expect(
      line({ msg: 'a request failed', requestId: 'req_1', err: { message: 'x', stack: 'Error: x\n    at y' } }),
    ).toBe('03:04:05 ERROR a request failed requestId=req_1\n    Error: x\n        at y\n')
    expect(line({ msg: 'a\u001b[2Jb', 'k\u0007': '\u001b]0;x', err: { stack: 'E\u001b[31m' } })).not.toMatch(
      /[\u0007\u001b]/,
    )
    expect(line({ msg: 'a\nb' })).toBe('03:04:05 ERROR a\uFFFDb\n')
    expect(prettyLine('{"level":30,"msg":"cut…"}x\n')).toBe('{"level":30,"msg":"cut…"}x\n')
  })
})
