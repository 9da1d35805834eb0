/** What we do inside a machine: commands, background processes, files, sessions, clones. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { guestCommandOf } from '#src/drivers/compute/guest/commands.ts'
import { execInGuest } from '#src/drivers/compute/guest/exec.ts'
import { listFolder, readFile, removePath as removeById, writeFile } from '#src/drivers/compute/guest/files.ts'
import { runOnce } from '#src/drivers/compute/guest/once.ts'
import {
  followBackground,
  killBackground,
  readBackground,
  startBackground,
} from '#src/drivers/compute/guest/processes.ts'
import { cloneRepos } from '#src/drivers/compute/guest/repos.ts'
import { removeSession, writeSession } from '#src/drivers/compute/guest/session.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'
import { newUuid } from '#src/platform/ids.ts'
import { limits } from '#src/platform/limits.ts'
import { bash, newSpec, startNode, type TestNode } from '../../support/compute.ts'
import { until } from '../../support/until.ts'

const prepareLimitMs = 10 * 60_000
const base64 = (text: string): string => Buffer.from(text).toString('base64')

let node: TestNode
let machine: Machine
beforeAll(async () => {
  node = await startNode(0)
  ;({ machine } = await node.compute.take(newSpec()))
}, prepareLimitMs)
afterAll(() => node.stop())

const run = (argv: string[], timeoutMs = 10_000): ReturnType<typeof execInGuest> =>
  execInGuest(machine, { argv, timeoutMs })

describe('a command', () => {
  test('gets its arguments unchanged, without a shell', async () => {
    const odd = ['a b', '', '$HOME', '"\'`;|&', '-n', 'ü\n']
    expect((await run(['/usr/bin/printf', '[%s]', ...odd])).stdout).toBe(odd.map((word) => `[${word}]`).join(''))
  })

  test('may be as long as 120 KB and reads its input', async () => {
    const long = 'x'.repeat(120 * 1024)
    expect((await run(['/usr/bin/printf', '%s', long])).stdout).toBe(long)
    expect(
      (await execInGuest(machine, { argv: ['/usr/bin/wc', '-c', long.slice(0, 1)], timeoutMs: 10_000, stdin: null }))
        .exitCode,
    ).toBe(1)
    expect(
      (await execInGuest(machine, { argv: ['/usr/bin/wc', '-c'], timeoutMs: 20_000, stdin: Buffer.alloc(3_000_000) }))
        .stdout,
    ).toBe('3000000\n')
  })

  test('answers its exit code, 127 for what is not there, 126 for what cannot run, 128 and the signal when killed', async () => {
    expect(await bash(machine, 'echo out; echo err >&2; exit 7')).toMatchObject({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 7,
      timedOut: false,
    })
    expect((await run(['no-such-program'])).exitCode).toBe(127)
    expect((await run(['/etc/passwd'])).exitCode).toBe(126)
    expect(
      (await execInGuest(machine, { argv: ['/bin/true'], workingDir: '/no/such/folder', timeoutMs: 5_000 })).exitCode,
    ).toBe(126)
    expect((await bash(machine, 'kill -9 $$')).exitCode).toBe(137)
    expect(await bash(machine, 'exit 124')).toMatchObject({ exitCode: 124, timedOut: false })
  })

  test('is asked to end at its time limit, and killed with all its children when it does not', async () => {
    const polite = await run(['/bin/bash', '-c', 'trap "echo asked; exit 3" TERM; echo begun; sleep 100 & wait'], 1_500)
    expect(polite).toMatchObject({ stdout: 'begun\nasked\n', exitCode: 124, timedOut: true })
    const stubborn = await run(
      ['/bin/bash', '-c', 'trap "" TERM; setsid sleep 12345 & while true; do sleep 1; done'],
      500,
    )
    expect(stubborn).toMatchObject({ exitCode: 124, timedOut: true })
    expect(stubborn.durationMs).toBeGreaterThan(5_000)
    expect((await run(['/usr/bin/pgrep', '-f', 'sleep 12345'])).exitCode).toBe(1)
  }, 40_000)

  test('keeps the last MiB of what it prints, and says what is missing', async () => {
    const { stdout, exitCode } = await bash(machine, 'head -c 3000000 /dev/zero | tr "\\0" x; echo end')
    expect(exitCode).toBe(0)
    expect(stdout.startsWith(`[… ${3_000_004 - 1024 * 1024} bytes dropped …]\nxxx`)).toBe(true)
    expect(stdout.endsWith('xend\n')).toBe(true)
  })

  test('ends with its caller', async () => {
    const leaving = new AbortController()
    const channel = await machine.run({ argv: ['/bin/sleep', '54321'], timeoutMs: 60_000 }, leaving.signal)
    expect((await run(['/usr/bin/pgrep', '-f', 'sleep 54321'])).exitCode).toBe(0)
    leaving.abort()
    expect(await channel.exit).toEqual({ exitCode: 137, timedOut: false })
    await until('it is gone', async () => (await run(['/usr/bin/pgrep', '-f', 'sleep 54321'])).exitCode === 1)
  })
})

describe('a command that is asked for by an id', () => {
  const once = (
    id: string,
    line: string,
    more: { timeoutMs?: number; stdin?: string } = {},
  ): ReturnType<typeof runOnce> =>
    runOnce(machine, id, { argv: ['/bin/bash', '-lc', line], timeoutMs: 20_000, ...more })
  const commands = async (): Promise<string> => (await bash(machine, 'ls /run/berth/commands', { as: 'root' })).stdout

  test('runs once, and answers every request until one has acknowledged the answer', async () => {
    const [first, second] = await Promise.all(
      ['a', 'b'].map(() => once('one', 'echo ran >> ran; sleep 0.5; echo out; echo err >&2; exit 3')),
    )
    expect(first).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 3, timedOut: false })
    expect(second).toMatchObject({ stdout: 'out\n', stderr: 'err\n', exitCode: 3 })
    expect((await once('one', 'never')).stdout).toBe('out\n')
    expect((await bash(machine, 'cat ran')).stdout).toBe('ran\n')
    first?.taken()
    await until('nothing is kept', async () => (await commands()) === '')
  })

  test('continues when the connection breaks, and its answer comes over the next one', async () => {
    const asked = once('cut', 'echo begun >> cut; sleep 2; echo done')
    await until('it runs', async () => (await bash(machine, 'cat cut')).stdout === 'begun\n')
    await bash(machine, 'pkill -KILL dropbear', { as: 'root' }).catch(() => undefined) // its own connection goes with the others
    expect(await asked).toMatchObject({ stdout: 'done\n', exitCode: 0 })
    expect((await bash(machine, 'cat cut')).stdout).toBe('begun\n')
  }, 30_000)

  test('reads its input, has a limit, keeps the last MiB, and does not wait for what it left behind', async () => {
    expect((await once('input', 'wc -c; cat', { stdin: 'x'.repeat(1_000_000) })).stdout).toBe('1000000\n')
    expect(await once('limit', 'echo begun; sleep 100', { timeoutMs: 700 })).toMatchObject({
      stdout: 'begun\n',
      exitCode: 124,
      timedOut: true,
    })
    expect(await once('own', 'exit 124')).toMatchObject({ exitCode: 124, timedOut: false })
    const { stdout } = await once('long', 'head -c 3000000 /dev/zero | tr "\\0" x; echo end')
    expect(stdout.startsWith(`[… ${3_000_004 - 1024 * 1024} bytes dropped …]\nxxx`)).toBe(true)
    expect(stdout.endsWith('xend\n')).toBe(true)
    expect((await once('left', '(sleep 0.7; echo late; touch survived) & echo now')).stdout).toBe('now\n')
    await until(
      'what it left behind prints and lives on',
      async () => (await bash(machine, 'ls survived')).exitCode === 0,
    )
  }, 40_000)
})

describe('a caller’s command', () => {
  const order = { command: '', args: null, workingDir: null, timeoutMs: 20_000, stdin: null }
  const asked = (wanted: Partial<Parameters<typeof guestCommandOf>[0]>): ReturnType<typeof runOnce> =>
    runOnce(machine, newUuid(), guestCommandOf({ ...order, ...wanted }))

  test.each(['user', 'root'] as const)(
    'has its own variables as %s, whatever their names, and no others',
    async (user) => {
      const env = { PATH: '/odd:/usr/bin:/bin', TMPDIR: '/x', LD_TEST: 'l', BERTH_SET_0: 'own', UID2: 'a b\n$HOME\'"' }
      const line = { command: '/usr/bin/env', args: ['-0'], user }
      const variables = async (more: Record<string, string>): Promise<string[]> =>
        (await asked({ ...line, env: more })).stdout.split('\0').sort()
      const [without, with_] = [await variables({}), await variables(env)]
      const own = Object.entries(env).map(([key, value]) => `${key}=${value}`)
      const others = (all: string[]): string[] => all.filter((one) => !/^(?:PATH|_|SUDO_COMMAND)=/.test(one))
      expect(others(with_)).toEqual([...others(without), ...own].filter((one) => !one.startsWith('PATH=')).sort())
      expect(with_).toContain(`PATH=${env.PATH}`)
      expect(without).toContain(user === 'root' ? 'HOME=/root' : 'HOME=/home/user')
    },
  )

  test('as root is root, in its folder, with its input, and answers its own exit code', async () => {
    const ran = await asked({ command: 'id -un; pwd; cat; exit 7', user: 'root', stdin: 'typed', workingDir: '/root' })
    expect(ran).toMatchObject({ stdout: 'root\n/root\ntyped', exitCode: 7 })
    expect(await asked({ command: 'pwd; kill -9 $$', user: 'root' })).toMatchObject({
      stdout: '/home/user\n',
      exitCode: 137,
    })
    expect(await asked({ command: 'true', user: 'root', workingDir: '/not/there' })).toMatchObject({ exitCode: 126 })
    expect(await asked({ command: 'not-there', args: [], user: 'root' })).toMatchObject({ exitCode: 127 })
  })

  test('as root ends at its time limit with all that it started, and its variables are in no command line', async () => {
    const hung = await asked({
      command: 'sleep 301 & sleep 302',
      user: 'root',
      timeoutMs: 1_000,
      env: { KEY: 'canary-91' },
    })
    expect(hung).toMatchObject({ timedOut: true, exitCode: 124 })
    expect((await bash(machine, 'pgrep -fc "sleep 30[12]"')).stdout).toBe('0\n')
    const told = await asked({
      command: 'cat /proc/[0-9]*/cmdline | tr "\\0" " "',
      user: 'root',
      env: { KEY: 'canary-91' },
    })
    expect(told.stdout).toContain('sudo')
    expect(told.stdout).not.toContain('canary-91')
  })

  test.each([
    ['user', null],
    ['user', { A: '1' }],
    ['root', null],
    ['root', { A: '1' }],
  ] as const)('as %s with %o is no option of the programs that run it', async (user, variables) => {
    const setting = { user, ...(variables ? { env: variables } : {}) }
    for (const command of ['--version', '-i', '-']) {
      const ran = await asked({ command, args: ['/usr/bin/id'], ...setting })
      expect([command, ran.exitCode, ran.stdout]).toEqual([command, 127, ''])
    }
  })

  test.each(['user', 'root'] as const)(
    'as %s may be as long, with as large variables, as the limits say',
    async (user) => {
      const env = Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`K${at}`, 'v'.repeat(limits.envValueBytes)]))
      const rest = limits.execArgumentBytes - 1
      const whole = await asked({ command: 'echo "${#K6}" #'.padEnd(rest, 'x'), user, env })
      expect(whole).toMatchObject({ stdout: `${limits.envValueBytes}\n`, exitCode: 0 })
      const text = 'x'.repeat(rest - '/usr/bin/printf|%s|'.length)
      expect((await asked({ command: '/usr/bin/printf', args: ['%s', text], user, env })).stdout).toBe(text)
    },
  )

  test('runs a program with an equals sign in its name', async () => {
    await bash(machine, "printf '#!/bin/sh\\necho ran $A' > a=b; chmod +x a=b")
    expect((await asked({ command: './a=b', args: [], env: { A: '1' } })).stdout).toBe('ran 1\n')
  })
})

describe('a background process', () => {
  const start = (id: string, line: string, timeoutMs = 0, stdin: string | null = null): Promise<() => void> =>
    startBackground(machine, `request-${id}`, id, { argv: ['/bin/bash', '-c', line], timeoutMs, stdin })
  const ended = async (id: string): Promise<void> =>
    until(`${id} ends`, async () => (await readBackground(machine, id)).status !== 'running')

  test('reads its input once, however often it is started, and leaves nothing of it', async () => {
    const input = 'x'.repeat(700_000)
    const [taken] = await Promise.all([start('prc_in', 'wc -c', 0, input), start('prc_in', 'wc -c', 0, input)])
    await ended('prc_in')
    const again = await start('prc_in', 'wc -c', 0, input)
    expect(await readBackground(machine, 'prc_in')).toMatchObject({ status: 'exited', exitCode: 0, stdout: '700000\n' })
    expect((await bash(machine, 'ls -A /tmp | grep -c berth-input')).stdout).toBe('0\n')
    taken()
    again()
  })

  test('leaves nothing of its input where it cannot start', async () => {
    const root = (line: string): ReturnType<typeof bash> =>
      bash(machine, `cd /var/lib/berth && ${line}`, { as: 'root' })
    await root('mv processes aside && touch processes')
    try {
      await expect(start('prc_full', 'cat', 0, 'typed')).rejects.toMatchObject({ code: 'vm_unreachable' })
    } finally {
      await root('rm processes && mv aside processes')
    }
    await until('its input is gone', async () => (await bash(machine, 'ls /tmp/.berth-input-prc_full')).exitCode !== 0)
    await until(
      'the guest keeps no answer for it',
      async () => (await root('ls /run/berth/commands/request-prc_full')).exitCode !== 0,
    )
  })

  test('is read while it runs and after it has ended', async () => {
    await start('prc_a', 'echo one; echo two >&2; read -t 1 -r < <(sleep 5); echo three; exit 4')
    expect(await readBackground(machine, 'prc_a')).toMatchObject({ status: 'running', exitCode: null })
    await ended('prc_a')
    expect(await readBackground(machine, 'prc_a')).toEqual({
      status: 'exited',
      exitCode: 4,
      stdout: 'one\nthree\n',
      stderr: 'two\n',
      stdoutOffset: 10,
      stderrOffset: 4,
    })
    await expect(readBackground(machine, 'prc_none')).rejects.toMatchObject({ code: 'not_found' })
  })

  test('keeps the last MiB of a stream and counts on', async () => {
    await start('prc_ring', 'head -c 5000000 /dev/zero | tr "\\0" y; echo last')
    await ended('prc_ring')
    const report = await readBackground(machine, 'prc_ring')
    expect(report.stdoutOffset).toBe(5_000_005)
    expect(report.stdout.startsWith(`[… ${5_000_005 - 1024 * 1024} bytes dropped …]\nyyy`)).toBe(true)
    expect(report.stdout.endsWith('ylast\n')).toBe(true)
  }, 40_000)

  test('is followed from any offset until its end', async () => {
    await start(
      'prc_follow',
      'for i in 1 2 3 4 5; do echo "line $i ü"; read -t 0.2 -r < <(sleep 5); done; echo no >&2; exit 1',
    )
    const follow = async (from: number): Promise<{ text: string; last: unknown }> => {
      let text = ''
      let last: unknown
      for await (const chunk of followBackground(
        machine,
        'prc_follow',
        { stdout: from, stderr: 0 },
        new AbortController().signal,
      )) {
        last = chunk
        if ('stream' in chunk && chunk.stream === 'stdout') {
          expect(chunk.offset).toBe(from + Buffer.byteLength(text))
          text += chunk.text
        }
      }
      return { text, last }
    }
    const whole = [1, 2, 3, 4, 5].map((number) => `line ${number} ü\n`).join('')
    expect(await follow(0)).toEqual({ text: whole, last: { ended: true, exitCode: 1, status: 'exited' } })
    expect((await follow(10)).text).toBe(Buffer.from(whole).subarray(10).toString())
  }, 40_000)

  test('is killed with its children, by its id, once', async () => {
    await start('prc_kill', 'setsid sleep 99999 & sleep 99999')
    expect(await killBackground(machine, 'prc_kill', 'KILL')).toBe(true)
    await ended('prc_kill')
    expect(await readBackground(machine, 'prc_kill')).toMatchObject({ status: 'killed', exitCode: 137 })
    expect((await run(['/usr/bin/pgrep', '-f', 'sleep 99999'])).exitCode).toBe(1)
    await until('its group is swept', async () => !(await killBackground(machine, 'prc_kill', 'TERM')))
  })

  test('has a limit when it is given one', async () => {
    await start('prc_limit', 'sleep 1000', 300)
    await ended('prc_limit')
    expect(await readBackground(machine, 'prc_limit')).toMatchObject({ status: 'killed', exitCode: 124 })
  })
})

describe('files', () => {
  const removePath = async (on: Machine, path: string, recursive: boolean): Promise<boolean> => {
    const { removed, taken } = await removeById(on, newUuid(), path, recursive)
    taken()
    return removed
  }

  test('are written, listed, read and removed as user', async () => {
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))
    expect(await writeFile(machine, '/home/user/a/b/c d.bin', bytes.toString('base64'))).toEqual({ sizeBytes: 300_000 })
    expect(await readFile(machine, '/home/user/a/b/c d.bin')).toEqual({
      content: bytes.toString('base64'),
      sizeBytes: 300_000,
    })
    await bash(machine, 'cd ~/a && ln -s b l && mkfifo p && touch -d 2026-01-02T03:04:05.678Z "odd\nname"')
    expect(await listFolder(machine, '/home/user/a')).toMatchObject([
      { name: 'b', type: 'directory' },
      { name: 'l', type: 'symlink' },
      { name: 'odd\nname', type: 'file', sizeBytes: 0, modifiedAt: '2026-01-02T03:04:05.678Z' },
      { name: 'p', type: 'other' },
    ])
    expect((await bash(machine, 'stat -c %U "a/b/c d.bin"')).stdout).toBe('user\n')
    expect(await removePath(machine, '/home/user/a/b/c d.bin', false)).toBe(true)
    expect(await removePath(machine, '/home/user/a/b/c d.bin', false)).toBe(false)
    await expect(removePath(machine, '/home/user/a', false)).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await removePath(machine, '/home/user/a/', true)).toBe(true)
  }, 30_000)

  test('that are absent, folders, too large or not the user’s are refused with a reason', async () => {
    await expect(readFile(machine, '/home/user/none')).rejects.toThrow('There is nothing at /home/user/none.')
    await expect(readFile(machine, '/home')).rejects.toThrow('/home is a folder.')
    await expect(readFile(machine, '/etc/shadow')).rejects.toThrow('Permission denied')
    await expect(readFile(machine, '/usr/local/bin/node')).rejects.toThrow('larger')
    await expect(writeFile(machine, '/etc/x', base64('x'))).rejects.toThrow('Permission denied')
    await expect(listFolder(machine, '/etc/passwd')).rejects.toThrow('not a folder')
    await expect(removePath(machine, '/etc/passwd', false)).rejects.toThrow('Permission denied')
  }, 30_000)

  test('that are mount points, or above one, cannot be removed in any way', async () => {
    await bash(machine, 'touch ~/workspace/precious; ln -s / ~/root; ln -s ~/workspace ~/w; mkdir -p ~/x')
    const ways = [
      '/',
      '//',
      '/.',
      '/home',
      '/home/',
      '/home/user',
      '/home/user/workspace',
      '/home/user/x/../workspace',
      '/home/user/root/home/user',
      '/home/user/w/.',
      '/home/user/w/..',
      '/proc',
      '/proc/1',
      '/sys',
      '/dev',
      '/dev/shm',
      '/home/user/x/../../..',
      '/run',
    ]
    for (const way of ways)
      await expect(removePath(machine, way, true), way).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await bash(machine, 'ls ~/workspace')).stdout).toContain('precious')
    expect(await removePath(machine, '/home/user/w', true)).toBe(true)
    expect(await removePath(machine, '/home/user/root', true)).toBe(true)
    expect((await bash(machine, 'ls ~/workspace /etc/passwd')).exitCode).toBe(0)
  }, 60_000)
})

test('the session file is the user’s, in memory, and is removed once', async () => {
  await writeSession(machine, '{"token":"t"}')
  expect(
    (
      await bash(
        machine,
        'cat /run/berth/session.json; stat -c " %a %U" /run/berth/session.json; findmnt -no FSTYPE --target /run/berth/session.json',
      )
    ).stdout,
  ).toBe('{"token":"t"} 600 user\ntmpfs\n')
  expect(await removeSession(machine)).toBe(true)
  expect(await removeSession(machine)).toBe(false)
})

describe('cloning', () => {
  let server: Server
  let origin: string
  beforeAll(async () => {
    // git's own server program behind HTTP; the guest reaches it through its proxy connection, which we pass on here.
    await new Promise<void>((resolve, reject) => {
      spawn('sh', [
        '-c',
        `cd "$1" && git init -q --bare repo.git && git --git-dir repo.git config http.receivepack false && git init -q w && cd w && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m first && git push -q ../repo.git HEAD:refs/heads/main && git --git-dir ../repo.git symbolic-ref HEAD refs/heads/main`,
        'sh',
        node.dataDir,
      ]).once('exit', (code) => (code === 0 ? resolve() : reject(new Error('no repository'))))
    })
    server = createServer((request, response) => {
      const url = new URL(request.url!, 'http://x')
      if (!url.pathname.startsWith('/repo.git')) return void response.writeHead(404).end()
      const child = spawn('git', ['http-backend'], {
        env: {
          PATH: '/usr/bin:/bin',
          GIT_PROJECT_ROOT: node.dataDir,
          GIT_HTTP_EXPORT_ALL: '1',
          PATH_INFO: url.pathname,
          QUERY_STRING: url.search.slice(1),
          REQUEST_METHOD: request.method,
          CONTENT_TYPE: request.headers['content-type'] ?? '',
          HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
          GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        },
      })
      request.pipe(child.stdin)
      let head = Buffer.alloc(0)
      child.stdout.on('data', (piece: Buffer) => {
        if (response.headersSent) return void response.write(piece)
        head = Buffer.concat([head, piece])
        const end = head.indexOf('\r\n\r\n')
        if (end < 0) return
        const lines = head
          .toString('latin1', 0, end)
          .split('\r\n')
          .map((line) => line.split(': ') as [string, string])
        response.writeHead(
          Number(lines.find(([name]) => name === 'Status')?.[1]?.slice(0, 3) ?? 200),
          Object.fromEntries(lines.filter(([name]) => name !== 'Status')),
        )
        response.write(head.subarray(end + 4))
      })
      child.once('close', () => response.end())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `http://host.berth.internal:${(server.address() as AddressInfo).port}`
    node.egress = (_id, connection) => {
      const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
      socket.on('error', () => connection.destroy())
      connection.on('error', () => socket.destroy())
      connection.pipe(socket).pipe(connection)
    }
  })
  afterAll(() => server.close())

  test('makes the working copy for user, and what fails is a warning without the credential', async () => {
    const warnings = await cloneRepos(
      machine,
      [
        { url: `${origin}/repo.git`, branch: null, path: '/home/user/workspace/repo' },
        { url: `${origin.replace('//', '//alice:s3cretpassword@')}/none.git`, branch: null, path: '/home/user/none' },
        { url: `${origin}/repo.git`, branch: 'nowhere', path: '/home/user/other' },
      ],
      60_000,
    )
    expect((await bash(machine, 'git -C ~/workspace/repo log --format=%s; stat -c %U ~/workspace/repo')).stdout).toBe(
      'first\nuser\n',
    )
    expect(warnings).toHaveLength(2)
    expect(warnings[0]).toMatch(/^Repository 2 \(host\.berth\.internal:\d+\/none\.git\) was not cloned: .+\.$/)
    expect(warnings[1]).toMatch(/nowhere/)
    expect(warnings.join()).not.toMatch(/s3cret|alice/)
  }, 60_000)
})
