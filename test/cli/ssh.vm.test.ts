/** Tunnels into a real VM on a whole `npm start`: the ssh, scp, rsync and git that people have, and `vm forward`. */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startInstallation, type Installation } from '../support/installation.ts'
import { makePerson, type Person } from './command.ts'

const run = promisify(execFile)
const limitMs = 400_000
const patienceMs = 120_000
let berth: Installation
let person: Person
let config: string
let env: Record<string, string>
beforeAll(async () => {
  berth = await startInstallation({ BERTH_VM_POOL: '0' })
  const token = await berth.token()
  person = makePerson({ BERTH_URL: berth.url, BERTH_TOKEN: token })
  const made = await berth.call<{ vm_id: string }>(token, 'POST', '/api/v1/vms', {
    name: 'web',
    env: { COLOUR: 'green' },
  })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const printed = await person.run(['vm', 'ssh-config', 'web'])
  expect(printed).toMatchObject({ exit: 0, err: '' })
  config = join(person.home, 'ssh_config')
  writeFileSync(config, printed.out)
  env = { ...person.env, PATH: '/usr/bin:/bin', NODE_NO_WARNINGS: '1' }
}, 600_000)
afterAll(async () => {
  person?.leave()
  await berth?.stop()
}, 60_000)

const has = (program: string): boolean => spawnSync('which', [program]).status === 0
/** One that asks nothing: a question would be a failure. */
const options = (): string[] => ['-F', config, '-o', 'BatchMode=yes']
const here = (name: string): string => join(person.home, name)
const ssh = (...words: string[]) => run('ssh', [...options(), 'web', ...words], { env, timeout: patienceMs })

test(
  'ssh runs commands as user with the variables of the VM, passes exit codes, and has a terminal',
  async () => {
    const { stdout } = await ssh('id -un; pwd; echo $COLOUR; node --version; echo $PATH')
    expect(stdout).toMatch(/^user\n\/home\/user\ngreen\nv\d+/)
    expect(stdout).toContain('/home/user/.local/bin:')
    await expect(ssh('exit 7')).rejects.toMatchObject({ code: 7 })
    const { stdout: pty } = await run('ssh', [...options(), '-tt', 'web', 'tty; stty size; exit 0'], {
      env,
      timeout: patienceMs,
    })
    expect(pty).toContain('/dev/pts/')
    const key = here('state/berth/ssh/id_ed25519')
    expect(statSync(key).mode & 0o777).toBe(0o600)
    const { stdout: keys } = await ssh(
      'stat -c %a .ssh .ssh/authorized_keys; wc -l < .ssh/authorized_keys; sudo -n id -un',
    )
    expect(keys).toBe('700\n600\n1\nroot\n') // however often somebody has connected
  },
  limitMs,
)

test(
  'another key is not let in, and another host key is noticed',
  async () => {
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', here('other')])
    const other = ['-F', config, '-o', 'BatchMode=yes', '-o', `IdentityFile=${here('other')}`]
    const without = readFileSync(config, 'utf8').replace(/^ *IdentityFile .*\n/m, '')
    writeFileSync(here('without'), without)
    await expect(
      run('ssh', ['-F', here('without'), ...other.slice(2), 'web', 'true'], { env, timeout: patienceMs }),
    ).rejects.toMatchObject({ stderr: expect.stringContaining('Permission denied') as string })
    writeFileSync(here('strange_hosts'), readFileSync(here('other.pub'), 'utf8').replace(/^/, '* '))
    const strange = ['-o', `UserKnownHostsFile=${here('strange_hosts')}`]
    await expect(
      run('ssh', [...options(), ...strange, 'web', 'true'], { env, timeout: patienceMs }),
    ).rejects.toMatchObject({ stderr: expect.stringMatching(/host key/i) as string })
  },
  limitMs,
)

test(
  'scp and sftp copy files both ways',
  async () => {
    const bytes = Buffer.alloc(1_000_000, 'some bytes ')
    writeFileSync(here('one.bin'), bytes)
    await run('scp', [...options(), here('one.bin'), 'web:one.bin'], { env, timeout: patienceMs })
    await run('scp', [...options(), 'web:one.bin', here('back.bin')], { env, timeout: patienceMs })
    expect(readFileSync(here('back.bin')).equals(bytes)).toBe(true)
    writeFileSync(here('batch'), `get one.bin ${here('again.bin')}\n`)
    await run('sftp', ['-b', here('batch'), ...options(), 'web'], { env, timeout: patienceMs })
    expect(readFileSync(here('again.bin')).equals(bytes)).toBe(true)
  },
  limitMs,
)

test.skipIf(!has('rsync'))(
  'rsync brings a folder',
  async () => {
    mkdirSync(here('site/deep'), { recursive: true })
    writeFileSync(here('site/deep/page.html'), 'hello')
    const remote = `ssh -F ${config} -o BatchMode=yes`
    await run('rsync', ['-a', '-e', remote, `${here('site')}/`, 'web:site/'], { env, timeout: patienceMs })
    expect((await ssh('cat site/deep/page.html')).stdout).toBe('hello')
  },
  limitMs,
)

test(
  'git pushes to a repository in the VM, and clones it',
  async () => {
    await ssh('git init -q --bare work.git; command -v rsync')
    const git = (...words: string[]) =>
      run('git', ['-c', 'user.name=me', '-c', 'user.email=me@example.com', ...words], {
        env: { ...env, GIT_SSH_COMMAND: `ssh -F ${config} -o BatchMode=yes` },
        timeout: patienceMs,
      })
    await git('init', '-q', here('work'))
    writeFileSync(here('work/file'), 'hello')
    await git('-C', here('work'), 'add', 'file')
    await git('-C', here('work'), 'commit', '-q', '-m', 'one')
    await git('-C', here('work'), 'push', '-q', 'web:work.git', 'HEAD:main')
    await git('clone', '-q', '-b', 'main', 'web:work.git', here('cloned'))
    expect(readFileSync(here('cloned/file'), 'utf8')).toBe('hello')
  },
  limitMs,
)

test(
  'forward leads to a port of the VM, and a port that nobody listens at says so',
  async () => {
    await ssh(
      'cd /tmp && echo from-the-vm > page && (setsid python3 -m http.server --bind 127.0.0.1 8099 > /dev/null 2>&1 &)',
    )
    const forward = person.start(['vm', 'forward', 'web', '0:8099', '0:8098'])
    await forward.printed('-> web:8098')
    const [, port = ''] = /127\.0\.0\.1:(\d+) -> web:8099/.exec(forward.text()) ?? []
    const [, closed = ''] = /127\.0\.0\.1:(\d+) -> web:8098/.exec(forward.text()) ?? []
    await expect
      .poll(async () => (await fetch(`http://127.0.0.1:${port}/page`)).text(), { timeout: patienceMs, interval: 500 })
      .toBe('from-the-vm\n')
    const socket = connect(Number(closed), '127.0.0.1')
    socket.on('error', () => undefined) // it is reset
    await forward.printed('Nothing in the VM listens at port 8098.')
    const asked = `printf 'GET /page HTTP/1.0\\r\\n\\r\\n' | ssh -F ${config} -o BatchMode=yes -W 127.0.0.1:8099 web`
    expect((await run('sh', ['-c', asked], { env, timeout: patienceMs })).stdout).toContain('from-the-vm')
    forward.child.kill('SIGINT')
    expect((await forward.ended).exit).toBe(130)
    expect(existsSync(here('state/berth/ssh/known_hosts'))).toBe(true)
  },
  limitMs,
)
