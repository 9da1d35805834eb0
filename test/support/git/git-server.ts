/** A real git server for tests: git's own http-backend behind Node's HTTP server, on a loopback port. */
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A running git server. */
export type GitServer = {
  port: number
  /** The folder of its bare repositories: `<name>.git`. */
  root: string
  /** Makes a repository of these files on its branch `main`, and, named apart, on further branches. */
  addRepository: (
    name: string,
    files: Record<string, string>,
    branches?: Record<string, Record<string, string>>,
  ) => void
  /** Lets whoever may read a repository push to it. */
  allowPushes: (name: string) => void
  stop: () => void
}

/** Starts one. With a password, every request must send it (user `git`). */
export async function startGitServer({ password }: { password?: string } = {}): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), 'berth-git-'))
  const server = createServer((request, response) => {
    if (password && request.headers.authorization !== `Basic ${Buffer.from(`git:${password}`).toString('base64')}`) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const url = new URL(request.url ?? '/', 'http://git')
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: '/usr/bin:/bin',
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method ?? 'GET',
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
      },
    })
    request.pipe(backend.stdin)
    let head = Buffer.alloc(0)
    let sent = false
    backend.stdout.on('data', (chunk: Buffer) => {
      if (sent) return void response.write(chunk)
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return
      sent = true
      const fields = Object.fromEntries(
        head
          .subarray(0, end)
          .toString()
          .split('\r\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      )
      const status = Number((fields['Status'] ?? '200').slice(0, 3))
      delete fields['Status']
      response.writeHead(status, fields)
      response.write(head.subarray(end + 4))
    })
    backend.on('close', () => response.end())
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return {
    port: (server.address() as AddressInfo).port,
    root,
    addRepository(name, files, branches = {}) {
      const work = mkdtempSync(join(tmpdir(), 'berth-work-'))
      const git = (...words: string[]) =>
        execFileSync(
          'git',
          [
            '-C',
            work,
            '-c',
            'user.name=Test',
            '-c',
            'user.email=test@example.com',
            '-c',
            'init.defaultBranch=main',
            ...words,
          ],
          { stdio: 'pipe' },
        )
      git('init')
      for (const [branch, content] of [['main', files], ...Object.entries(branches)] as [
        string,
        Record<string, string>,
      ][]) {
        if (branch !== 'main') git('checkout', '-b', branch)
        for (const [path, text] of Object.entries(content)) {
          mkdirSync(dirname(join(work, path)), { recursive: true })
          writeFileSync(join(work, path), text)
        }
        git('add', '.')
        git('commit', '-m', `files of ${branch}`)
      }
      git('checkout', 'main')
      execFileSync('git', ['clone', '--bare', '--quiet', work, join(root, `${name}.git`)], { stdio: 'pipe' })
      rmSync(work, { recursive: true })
    },
    allowPushes(name) {
      execFileSync('git', ['-C', join(root, `${name}.git`), 'config', 'http.receivepack', 'true'])
    },
    stop() {
      server.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
