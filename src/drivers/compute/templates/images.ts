/** The disk images of templates. */
import { execFile } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { promisify } from 'node:util'
import { buildTimeoutMs } from './mmdebstrap.ts'

/** Turns a raw image that our own build has made into one that takes only what is written, readable by everybody. */
export async function toQcow2(raw: string, target: string): Promise<void> {
  await promisify(execFile)('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, target], {
    timeout: buildTimeoutMs,
  })
  chmodSync(target, 0o444)
  rmSync(raw)
}
