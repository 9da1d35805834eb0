/** Git over SSH for tests: a real SSH server whose only command is git's own upload-pack, on a loopback port. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import ssh2 from 'ssh2'
import { newHostKey } from './host-keys.ts'

/** A running server. */
export type GitSshServer = { port: number; stop: () => void }

/** Starts one that serves the repositories of a folder. With `keysOnly` it accepts only keys, and none is registered. */
export async function startGitSshServer(root: string, { keysOnly = false } = {}): Promise<GitSshServer> {
  const server = new ssh2.Server({ hostKeys: [newHostKey()] }, (client) => {
    client.on('error', () => undefined) // a client that leaves in the middle
    client.on('authentication', (asked) => (keysOnly ? asked.reject(['publickey']) : asked.accept()))
    client.on('session', (accept) => {
      accept().on('exec', (acceptCommand, reject, { command }) => {
        const [, name] = /^git-upload-pack '\/?([\w.-]+)'$/.exec(command) ?? []
        if (!name) return reject()
        const channel = acceptCommand()
        const git = spawn('git', ['upload-pack', join(root, name)], {
          env: {
            PATH: '/usr/bin:/bin',
            GIT_CONFIG_COUNT: '1',
            GIT_CONFIG_KEY_0: 'safe.directory',
            GIT_CONFIG_VALUE_0: '*',
          },
        })
        channel.pipe(git.stdin)
        git.stdout.pipe(channel, { end: false })
        git.stderr.pipe(channel.stderr, { end: false })
        git.on('close', (code) => {
          channel.exit(code ?? 1)
          channel.end()
        })
      })
    })
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return { port: (server.address() as AddressInfo).port, stop: () => server.close() }
}
