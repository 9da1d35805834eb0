/** Files of a real VM as streams: whole, in parts, cut and resumed, as archives, and by signed URLs. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startBerth, type Berth } from '../support/berth.ts'
import { startCommand, type Command } from '../support/command.ts'
import { freePort } from '../support/ports.ts'
import { endQemus } from '../support/qemu-processes.ts'
import { until } from '../support/until.ts'
import { archiveOf } from './vm-files/archives.ts'
import { bytesOf, createFileClient, digest } from './vm-files/client.ts'

vi.setConfig({ testTimeout: 90_000 }) // emulated machines are slow on a busy host

let berth: Berth
let token: string
let vmId: string
let worker: Command
const folder = mkdtempSync(join(tmpdir(), 'berth-files-'))

beforeAll(async () => {
  berth = await startBerth()
  token = await berth.token()
  worker = await startWorker()
  const made = await berth.call<{ vm_id: string }>('POST', '/api/v1/vms', { token, body: {} })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  vmId = made.body.vm_id
}, 180_000)
afterAll(async () => {
  worker?.child.kill('SIGKILL')
  await worker?.ended
  await endQemus(berth.services.config.dataDir)
  await berth.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** A worker as a process of its own, so that it can be killed. */
async function startWorker(): Promise<Command> {
  const started = startCommand(['workers/main.ts'], {
    DATABASE_URL: berth.services.database.url,
    PORT: String(berth.port),
    BERTH_DATA_DIR: berth.dataDir,
    BERTH_VM_POOL: '1',
  })
  await until('the worker is ready', () => started.lines.some((line) => line.includes('the worker is ready')), 150_000)
  return started
}

const { urlOf, call, exec, beginUpload, arrived } = createFileClient(() => ({ berth, token, vmId }))
const curl = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)('curl', ['-sS', '--max-time', '60', ...args], { encoding: 'latin1', maxBuffer: 1e8 }))
    .stdout

test('a file goes in and comes out again as it was, with its length, version and parts', async () => {
  const bytes = bytesOf(300_000)
  const put = await call('PUT', '/home/user/a/b/data.bin', { body: new Uint8Array(bytes) })
  expect([put.status, await put.json()]).toEqual([
    200,
    { path: '/home/user/a/b/data.bin', size_bytes: 300_000, complete: true },
  ])
  const got = await call('GET', '/home/user/a/b/data.bin')
  expect(got.status).toBe(200)
  expect(Object.fromEntries(got.headers)).toMatchObject({
    'content-length': '300000',
    'accept-ranges': 'bytes',
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="data.bin"; filename*=UTF-8''data.bin`,
  })
  expect(digest(await got.bytes())).toBe(digest(bytes))
  const etag = got.headers.get('etag')!
  const part = await call('GET', '/home/user/a/b/data.bin', { headers: { range: 'bytes=299990-', 'if-range': etag } })
  expect([part.status, part.headers.get('content-range'), Buffer.from(await part.bytes())]).toEqual([
    206,
    'bytes 299990-299999/300000',
    bytes.subarray(299_990),
  ])
  const old = await call('GET', '/home/user/a/b/data.bin', { headers: { range: 'bytes=0-9', 'if-range': '"other"' } })
  expect([old.status, (await old.bytes()).length]).toEqual([200, 300_000])
  expect((await call('GET', '/home/user/a/b/data.bin', { headers: { 'if-none-match': etag } })).status).toBe(304)
  const beyond = await call('GET', '/home/user/a/b/data.bin', { headers: { range: 'bytes=300000-' } })
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */300000'])
  const head = await call('HEAD', '/home/user/a/b/data.bin')
  expect([
    head.status,
    head.headers.get('content-length'),
    head.headers.get('etag'),
    head.headers.get('upload-offset'),
  ]).toEqual([200, '300000', etag, null])
  expect(await exec('ls -A ~/a/b; stat -c "%U %a" ~/a/b/data.bin')).toBe('data.bin\nuser 644\n')
})

test('an upload that breaks off leaves nothing under its name; HEAD says how much arrived, and curl goes on there', async () => {
  const bytes = bytesOf(3_000_000, 3)
  const path = '/home/user/big.bin'
  await breakOff(path, bytes.subarray(0, 1_000_000), bytes.length)
  expect(await exec('ls ~')).not.toContain('big.bin')
  const head = await call('HEAD', path)
  const offset = Number(head.headers.get('upload-offset'))
  expect([head.status, offset > 0, offset <= 1_000_000]).toEqual([404, true, true])
  const ahead = await call('PUT', path, { headers: { 'content-range': `bytes 2999999-2999999/3000000` }, body: 'x' })
  expect([ahead.status, ahead.headers.get('upload-offset')]).toEqual([409, String(offset)])
  const file = join(folder, 'big.bin')
  writeFileSync(file, bytes)
  const resumed = await curl('-H', `Authorization: Bearer ${token}`, '-C', String(offset), '-T', file, urlOf(path))
  expect(resumed).toBe(JSON.stringify({ path, size_bytes: 3_000_000, complete: true }))
  expect(digest(await (await call('GET', path)).bytes())).toBe(digest(bytes))
  expect(await exec('ls -A ~ | grep upload | wc -l')).toBe('0\n')
})

test('a file of unknown size arrives in parts, and is there when its size is known', async () => {
  const path = '/home/user/parts.bin'
  const put = async (range: string, body: string) => {
    const answer = await call('PUT', path, { headers: { 'content-range': range }, body })
    return [
      answer.status,
      ((await answer.json()) as { size_bytes: number }).size_bytes,
      answer.headers.get('upload-offset'),
    ]
  }
  expect(await put('bytes 0-4/*', 'hello')).toEqual([202, 5, '5'])
  expect(await put('bytes 5-10/*', ' worXX')).toEqual([202, 11, '11'])
  expect((await call('GET', path)).status).toBe(404)
  expect(await put('bytes 9-10/*', 'ld')).toEqual([202, 11, '11'])
  expect((await call('PUT', path, { headers: { 'content-range': 'bytes */12' } })).status).toBe(409)
  expect(await put('bytes */11', '')).toEqual([200, 11, null])
  expect(await (await call('GET', path)).text()).toBe('hello world')
  const chunked = await call('PUT', path, { body: new Blob(['over ', 'written']).stream() })
  expect(await chunked.json()).toMatchObject({ size_bytes: 12, complete: true })
  expect(await exec('cat ~/parts.bin')).toBe('over written')
})

/** Sends the beginning of an upload, waits until it is in the VM, and breaks the connection. */
async function breakOff(path: string, begin: Buffer, length: number): Promise<void> {
  const socket = beginUpload(path, begin, length)
  await arrived()
  socket.destroy()
  await until(
    'the guest has heard of it',
    async () => (await exec('pgrep -c flock; pgrep -fc berth-upload || true')).includes('0'),
    30_000,
  )
}

test('a folder goes in and comes out as an archive that is resumed by its version, and a broken archive changes nothing', async () => {
  const made = join(folder, 'site')
  mkdirSync(join(made, 'deep'), { recursive: true })
  writeFileSync(join(made, 'deep', 'data.bin'), bytesOf(200_000, 7))
  writeFileSync(join(made, "it's a name.txt"), 'text')
  const archive = join(folder, 'site.tar.gz')
  await promisify(execFile)('tar', ['-czf', archive, '-C', made, '.'])
  const put = await call('PUT', '/home/user/site', { body: new Uint8Array(readFileSync(archive)), format: 'tar' })
  expect([put.status, await put.json()]).toMatchObject([200, { complete: true }])
  expect(await exec('cd ~/site && find . -type f | sort; stat -c %U deep')).toBe(
    "./deep/data.bin\n./it's a name.txt\nuser\n",
  )
  const got = await call('GET', '/home/user/site', { format: 'tar' })
  const whole = Buffer.from(await got.bytes())
  const etag = got.headers.get('etag')!
  expect([got.headers.get('content-type'), whole.length]).toEqual([
    'application/x-tar',
    Number(got.headers.get('content-length')),
  ])
  const rest = await call('GET', '/home/user/site', {
    format: 'tar',
    headers: { range: 'bytes=150001-', 'if-range': etag },
  })
  expect(rest.status).toBe(206)
  expect(digest(await rest.bytes())).toBe(digest(whole.subarray(150_001)))
  const middle = await call('GET', '/home/user/site', { format: 'tar', headers: { range: 'bytes=1000-2999' } })
  expect(digest(await middle.bytes())).toBe(digest(whole.subarray(1000, 3000)))
  writeFileSync(join(folder, 'got.tar'), whole)
  const { stdout } = await promisify(execFile)('tar', ['-tf', join(folder, 'got.tar')])
  expect(stdout.split('\n')).toContain('./deep/data.bin')
  await exec('echo more >> ~/site/deep/data.bin')
  const changed = await call('GET', '/home/user/site', {
    format: 'tar',
    headers: { range: 'bytes=150001-', 'if-range': etag },
  })
  expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false])
  await changed.bytes()
  const before = await exec('cd ~/site && find . | sort | sha256sum; ls -A')
  const broken = await call('PUT', '/home/user/site', { body: 'this is no archive', format: 'tar' })
  expect([broken.status, ((await broken.json()) as { message: string }).message]).toEqual([
    400,
    expect.stringContaining('tar archive'),
  ])
  expect(await exec('cd ~/site && find . | sort | sha256sum; ls -A')).toBe(before)
})

test('what cannot be read or written is refused with a sentence, and holds nothing up', async () => {
  await exec(
    'mkfifo ~/pipe; ln -s ~/nowhere ~/dangling; mkdir -p ~/empty; ln -s loop ~/loop; ln -s ~/nowhere/far ~/far; echo secret | sudo tee /root/closed > /dev/null; truncate -s 0 ~/zero',
  )
  const cases: [method: string, path: string, format: string, status: number, message: RegExp][] = [
    ['GET', '/home/user/nothing', '', 404, /nothing at/],
    ['GET', '/home/user/dangling', '', 404, /nothing at/],
    ['GET', '/root/closed', '', 400, /Permission denied/],
    ['GET', '/home/user/pipe', '', 400, /pipe/],
    ['GET', '/home/user', '', 400, /format=tar/],
    ['GET', '/home/user/zero', 'tar', 400, /not a folder/],
    ['GET', '/proc/self/status', '', 400, /system/],
    ['GET', '/home/user/../../proc/version', '', 400, /system/],
    ['GET', '/dev/zero', '', 400, /device|system/],
    ['GET', 'relative', '', 400, /absolute/],
    ['GET', '/a\0b', '', 400, /NUL/],
    ['GET', `/${'x'.repeat(5000)}`, '', 400, /longer/],
    ['GET', '/home/user/x', 'zip', 400, /format must be/],
    ['PUT', '/home/user', '', 400, /folder/],
    ['PUT', '/home/user/new/', '', 400, /folder/],
    ['PUT', '/home/user/pipe', '', 400, /pipe/],
    ['PUT', '/root/mine', '', 400, /Permission denied/],
    ['PUT', '/proc/mine', '', 400, /system/],
    ['PUT', `/home/user/${'x'.repeat(300)}`, '', 400, /name too long/],
    ['PUT', '/home/user/zero', 'tar', 400, /not a folder/],
    ['GET', '/home/user/loop', '', 400, /Too many levels/],
    ['PUT', '/home/user/loop', '', 400, /Too many levels/],
    ['PUT', '/home/user/far', '', 400, /No such file/],
    ['PUT', '/home/user/.berth-upload-x', '', 400, /unfinished uploads/],
  ]
  for (const [method, path, format, status, message] of cases) {
    const answer = await call(method, path, { format, ...(method === 'PUT' ? { body: 'x' } : {}) })
    const body = (await answer.json()) as { message: string }
    expect([method, path, format, answer.status, body.message]).toEqual([
      method,
      path,
      format,
      status,
      expect.stringMatching(message),
    ])
  }
  expect(await (await call('GET', '/home/user/zero')).text()).toBe('')
  const put = await call('PUT', '/home/user/zero', { body: '' })
  expect([put.status, await exec('stat -c %s ~/zero')]).toEqual([200, '0\n'])
  for (const headers of [
    { 'content-range': 'bytes 5-1/9' },
    { 'content-range': 'bytes 0-3/9' },
    { 'if-match': '"x"' },
  ] as Record<string, string>[])
    expect((await call('PUT', '/home/user/zero', { headers, body: 'x' })).status).toBe(400)
  expect((await call('PUT', '/home/user/zero', { headers: { 'content-encoding': 'gzip' }, body: 'x' })).status).toBe(
    415,
  )
  expect(await exec('mkdir -p ~/small && sudo mount -t tmpfs -o size=1m,uid=1000 none ~/small && echo mounted')).toBe(
    'mounted\n',
  )
  const full = await call('PUT', '/home/user/small/large', { body: new Uint8Array(3_000_000) })
  expect([full.status, await exec('ls -A ~/small')]).toEqual([413, ''])
  const chunked = await call('PUT', '/home/user/small/large', { body: new Blob([new Uint8Array(3_000_000)]).stream() })
  expect([chunked.status, await exec('ls -A ~/small')]).toEqual([413, ''])
  const bomb = gzipSync(archiveOf([{ name: 'zeros', text: '\0'.repeat(3_000_000) }]))
  const unpacked = await call('PUT', '/home/user/small', { body: new Uint8Array(bomb), format: 'tar' })
  expect([unpacked.status, ((await unpacked.json()) as { message: string }).message]).toEqual([
    413,
    expect.stringContaining('everything in the archive'),
  ])
  expect(await exec('ls -A ~/small | grep -c upload')).toBe('0\n')
})

test('an archive writes nothing outside of its folder, and no devices or rights, and says what it could not do', async () => {
  const put = await call('PUT', '/home/user/hostile', {
    format: 'tar',
    body: new Uint8Array(
      archiveOf([
        { name: 'good', text: 'good' },
        { name: '/tmp/absolute', text: 'x' },
        { name: '../above', text: 'x' },
        { name: 'outside', type: 'link', target: '/tmp' },
        { name: 'outside/through', text: 'x' },
        { name: 'hard', type: 'hardLink', target: '/etc/hostname' },
        { name: 'device', type: 'character' },
        { name: 'rights', mode: 0o6755, text: 'x' },
        { name: 'last', text: 'last' },
      ]),
    ),
  })
  expect([put.status, ((await put.json()) as { message: string }).message]).toEqual([
    400,
    expect.stringMatching(/Not everything .* \.\.\/above: Member name contains/),
  ])
  expect(
    await exec(
      'cd ~/hostile && find . | sort; stat -c %a rights; ls -d /tmp/absolute /tmp/through ~/above 2> /dev/null',
    ),
  ).toBe(['.', './good', './last', './outside', './rights', './tmp', './tmp/absolute', '755', ''].join('\n'))
})

test('files of every name that is text go in and come out, alone and in their folder', async () => {
  const names = ['new\nline', `it's "quoted" $(id) \`id\``, '-rf', ' ', 'ünï 文件 🗄', '%41+b&c=d?e#f', '*']
  const seen = await Promise.all(
    names.map(async (name) => {
      const path = `/home/user/names/${name}`
      const { status } = await call('PUT', path, { body: name })
      const got = await call('GET', path)
      return [status, got.headers.get('content-length'), await got.text()]
    }),
  )
  expect(seen).toEqual(names.map((name) => [200, String(Buffer.byteLength(name)), name]))
  const archive = Buffer.from(await (await call('GET', '/home/user/names', { format: 'tar' })).bytes())
  expect(names.filter((name) => !archive.includes(Buffer.from(`./${name}\0`)))).toEqual([])
})

test('a file whose name is not text comes out in an archive, and goes in with one', async () => {
  await exec(`mkdir -p ~/bytes && printf secret > ~/bytes/$'\\xff\\xfe'`)
  const archive = await (await call('GET', '/home/user/bytes', { format: 'tar' })).bytes()
  const put = await call('PUT', '/home/user/copied', { body: archive, format: 'tar' })
  expect([put.status, await exec(`cat ~/copied/$'\\xff\\xfe'`)]).toEqual([200, 'secret'])
  const named = await fetch(`${berth.url}/api/v1/vms/${vmId}/files?path=/home/user/bytes/%ff%fe`, {
    headers: { authorization: `Bearer ${token}` },
  })
  expect([named.status, ((await named.json()) as { message: string }).message]).toEqual([
    400,
    expect.stringContaining('format=tar'),
  ])
})

test('a mode and a link stay, and of two uploads to one path one is there as a whole', async () => {
  await exec('cd ~ && echo old > script && chmod 755 script && ln -sf script link')
  expect((await call('PUT', '/home/user/link', { body: 'new' })).status).toBe(200)
  expect(await exec('cd ~ && cat script; stat -c "%a %F" script link')).toBe('new755 regular file\n777 symbolic link\n')
  const [one, other] = [bytesOf(700_000, 11), bytesOf(700_000, 13)]
  const answers = await Promise.all(
    [one, other].map(async (bytes) => (await call('PUT', '/home/user/both', { body: new Uint8Array(bytes) })).status),
  )
  expect(answers.toSorted((left, right) => left - right)).toEqual([200, 409])
  const winner = answers[0] === 200 ? one : other
  expect(digest(await (await call('GET', '/home/user/both')).bytes())).toBe(digest(winner))
})

test('a signed URL opens one file in one way, for curl without a token', async () => {
  await exec('echo -n signed > ~/signed.txt; mkdir -p ~/tree && echo x > ~/tree/x')
  const make = async (
    method: string,
    path: string,
    more: Record<string, unknown> = {},
    as = token,
  ): Promise<string> => {
    const { status, body } = await berth.call<{ url: string }>('POST', `/api/v1/vms/${vmId}/file-urls`, {
      token: as,
      body: { path, method, ...more },
    })
    expect(status, JSON.stringify(body)).toBe(201)
    return body.url
  }
  const get = await make('GET', '/home/user/signed.txt')
  expect(await curl(get)).toBe('signed')
  expect(await curl('--range', '2-4', get)).toBe('gne')
  expect((await fetch(get, { method: 'PUT', body: 'x' })).status).toBe(403)
  const other = new URL(get)
  other.searchParams.set('path', '/home/user/.bashrc')
  const later = new URL(get)
  later.searchParams.set('expires', '9999999999')
  const noVm = get.replace(vmId, 'vm_01m83v7dpkfdnaqrfg1ksjt14e')
  const bodies = await Promise.all(
    [other, later, noVm].map(async (url) => {
      const answer = await fetch(url)
      return [answer.status, await answer.json()]
    }),
  )
  expect(new Set(bodies.map((one) => JSON.stringify(one))).size).toBe(1)
  expect(bodies[0]?.[0]).toBe(403)
  const put = await make('PUT', '/home/user/sent.txt')
  const file = join(folder, 'sent.txt')
  writeFileSync(file, 'sent without a token')
  expect((await fetch(put, { method: 'HEAD' })).headers.get('upload-offset')).toBe('0')
  expect(JSON.parse(await curl('-T', file, put))).toMatchObject({ complete: true })
  expect(await exec('cat ~/sent.txt')).toBe('sent without a token')
  expect((await fetch(put)).status).toBe(403)
  const tar = await make('GET', '/home/user/tree', { format: 'tar' })
  expect((await fetch(tar)).headers.get('content-disposition')).toContain('filename="tree.tar"')
})

test('a download outlives its worker, and an upload is continued with the next one', async () => {
  await exec('head -c 12000000 /dev/urandom > ~/random.bin')
  const [wanted = ''] = (await exec('sha256sum ~/random.bin')).split(' ')
  const answer = await call('GET', '/home/user/random.bin')
  const pieces: Uint8Array[] = []
  let killed: Promise<Command> | undefined
  for await (const piece of answer.body!) {
    pieces.push(piece)
    if (killed) continue
    worker.child.kill('SIGKILL')
    killed = startWorker()
  }
  worker = await killed!
  const bytes = Buffer.concat(pieces)
  expect([bytes.length, digest(bytes)]).toEqual([12_000_000, wanted])

  const path = '/home/user/again.bin'
  let sentBytes = 0
  const upload = call('PUT', path, {
    body: new ReadableStream({
      async pull(controller) {
        if (sentBytes === 3_000_000) {
          await arrived()
          worker.child.kill('SIGKILL')
          await worker.ended
        }
        if (sentBytes >= bytes.length) return controller.close()
        controller.enqueue(new Uint8Array(bytes.subarray(sentBytes, (sentBytes += 1_000_000))))
      },
    }),
  })
  expect((await upload).status).toBe(502)
  worker = await startWorker()
  const offset = Number((await call('HEAD', path)).headers.get('upload-offset'))
  expect([offset > 0, offset < bytes.length]).toEqual([true, true])
  const rest = await call('PUT', path, {
    headers: { 'content-range': `bytes ${offset}-${bytes.length - 1}/${bytes.length}` },
    body: new Uint8Array(bytes.subarray(offset)),
  })
  expect([rest.status, (await exec('sha256sum ~/again.bin')).split(' ')[0]]).toEqual([200, wanted])
}, 120_000)

test('an upload outlives its web process, and nothing half of it is there', async () => {
  const port = await freePort()
  const web = startCommand(['src/gateway/main.ts'], {
    DATABASE_URL: berth.services.database.url,
    PORT: String(port),
    BERTH_DATA_DIR: berth.dataDir,
    BERTH_METRICS_PORT: String(await freePort()),
    BERTH_PUBLIC_URL: berth.services.config.publicUrl, // whose tokens are good
  })
  await web.line(/the web process listens/)
  const bytes = bytesOf(2_000_000, 5)
  const path = '/home/user/web.bin'
  const sending = beginUpload(path, bytes.subarray(0, 1_000_000), bytes.length, port)
  await arrived()
  web.child.kill('SIGKILL')
  await web.ended
  sending.destroy()
  await resume(path, bytes)
})

/** Finds out how much of an upload has arrived, sends the rest, and compares the whole. */
async function resume(path: string, bytes: Buffer): Promise<void> {
  const head = await call('HEAD', path)
  const offset = Number(head.headers.get('upload-offset'))
  expect([head.status, offset > 0, offset < bytes.length]).toEqual([404, true, true])
  const rest = await call('PUT', path, {
    headers: { 'content-range': `bytes ${offset}-${bytes.length - 1}/${bytes.length}` },
    body: new Uint8Array(bytes.subarray(offset)),
  })
  expect([rest.status, await rest.json()]).toEqual([200, { path, size_bytes: bytes.length, complete: true }])
  expect((await exec(`sha256sum ${path}`)).split(' ')[0]).toBe(digest(bytes))
}

const act = (mutation: string) =>
  berth.ask(`mutation { ${mutation}(input: { id: "${vmId}" }) { vm { status } } }`, { token })
const statusIs = (status: string) =>
  until(
    `the VM is ${status}`,
    async () => (await berth.call<{ status: string }>('GET', `/api/v1/vms/${vmId}`, { token })).body.status === status,
    60_000,
  )

test('an upload to a VM that is paused is answered, and goes on after it was resumed', async () => {
  const bytes = bytesOf(2_000_000, 9)
  const path = '/home/user/paused.bin'
  const sending = beginUpload(path, bytes.subarray(0, 1_000_000), bytes.length)
  await arrived()
  const answer = once(sending, 'data') as Promise<[Buffer]>
  await act('pauseVm')
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 502 [^]*Upload-Offset/)
  sending.destroy()
  await statusIs('paused')
  const meanwhile = await call('PUT', path, { body: 'x' })
  expect([meanwhile.status, ((await meanwhile.json()) as { message: string }).message]).toEqual([
    400,
    expect.stringContaining('paused'),
  ])
  await act('resumeVm')
  await statusIs('running')
  await resume(path, bytes)
}, 120_000)

test('transfers of a VM that is deleted end, and then there is no such VM', async () => {
  await exec('truncate -s 200M ~/large.bin')
  const download = await call('GET', '/home/user/large.bin')
  const reader = download.body!.getReader()
  await reader.read()
  const sending = beginUpload('/home/user/last.bin', bytesOf(1_000_000), 2_000_000)
  await arrived()
  const answer = once(sending, 'data') as Promise<[Buffer]>
  expect((await berth.call('DELETE', `/api/v1/vms/${vmId}`, { token })).status).toBe(204)
  expect(String((await answer)[0])).toMatch(/^HTTP\/1\.1 (502|404) /)
  sending.destroy()
  const readOn = async (): Promise<void> => {
    while (!(await reader.read()).done);
  }
  await expect(readOn()).rejects.toThrow()
  // Its machine ends before its row says so: until then the answer is 400.
  await until('it is gone', async () => (await call('GET', '/home/user/large.bin')).status === 404)
})
