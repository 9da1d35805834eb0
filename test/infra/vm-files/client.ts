/** A client of the files of one VM: what tests with a real VM call. */
import { connect, type Socket } from 'node:net'
import { expect } from 'vitest'
import { startSha256 } from '#src/platform/secrets.ts'
import type { Berth } from '../../support/berth.ts'
import { until } from '../../support/until.ts'

/** What a request for a file has besides its path. */
export type FileOptions = { headers?: Record<string, string>; body?: BodyInit; format?: string }

/** The calls of a test. */
export type FileClient = {
  urlOf: (path: string, format?: string) => string
  call: (method: string, path: string, options?: FileOptions) => Promise<Response>
  /** What a command in the VM prints. */
  exec: (command: string) => Promise<string>
  /** Sends the beginning of an upload that is to be so long, and leaves it there. */
  beginUpload: (path: string, begin: Buffer, length: number, port?: number) => Socket
  /** Resolves when a part of an upload to the home folder is in the VM. */
  arrived: () => Promise<void>
}

/** @param of the VM, once it is there. */
export function createFileClient(of: () => { berth: Berth; token: string; vmId: string }): FileClient {
  const urlOf = (path: string, format = ''): string =>
    `${of().berth.url}/api/v1/vms/${of().vmId}/files?path=${encodeURIComponent(path)}${format && `&format=${format}`}`
  const exec = async (command: string): Promise<string> => {
    const { berth, token, vmId } = of()
    const { status, body } = await berth.call<{ stdout: string }>('POST', `/api/v1/vms/${vmId}/envd/exec`, {
      token,
      body: { command, timeout: 60 },
    })
    expect(status, JSON.stringify(body)).toBe(200)
    return body.stdout
  }
  return {
    urlOf,
    exec,
    call: (method, path, { headers = {}, body, format } = {}) =>
      fetch(urlOf(path, format), {
        method,
        headers: { authorization: `Bearer ${of().token}`, ...headers },
        ...(body === undefined ? {} : { body, duplex: 'half' }),
      } as RequestInit),
    beginUpload(path, begin, length, port = of().berth.port) {
      const { pathname, search } = new URL(urlOf(path))
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write(
        `PUT ${pathname}${search} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${of().token}\r\ncontent-length: ${length}\r\n\r\n`,
      )
      socket.write(begin)
      return socket
    },
    async arrived() {
      const look = 'stat -c %s ~/.berth-upload-* 2> /dev/null || echo 0'
      await until('something has arrived', async () => Number(await exec(look)) > 500_000, 30_000)
    },
  }
}

/** So many bytes in an order that hardly repeats; another one for each seed. */
export function bytesOf(length: number, seed = 1): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (at * 31 + (at >> 8) * seed) & 0xff))
}

/** The digest of these bytes, as sha256sum prints it. */
export function digest(bytes: Uint8Array): string {
  const hash = startSha256()
  hash.update(Buffer.from(bytes))
  return hash.hex()
}
