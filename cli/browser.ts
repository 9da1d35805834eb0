/** The person's browser. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Env } from './contexts.ts'

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
}

/** Whether the person sits elsewhere, so that a browser here is none of theirs. */
export function isRemote(env: Env): boolean {
  return Boolean(env['SSH_CONNECTION'] || env['SSH_TTY'])
}

/** Whether there is a screen for a browser. */
export function hasScreen(env: Env): boolean {
  return process.platform !== 'linux' || Boolean(env['DISPLAY'] || env['WAYLAND_DISPLAY'])
}

/** Opens an address, where somebody sits at the terminal. @returns why it does not open, if it was tried. */
export async function openBrowser(env: Env, url: URL): Promise<string | undefined> {
  const [opener, ...words] = openers[process.platform] ?? []
  if (opener === undefined || !hasScreen(env) || !process.stdout.isTTY) return undefined
  const child = spawn(opener, [...words, url.href], { detached: true, stdio: 'ignore' })
  const failed = once(child, 'error').then(([error]: Error[]) => `No browser opens: ${error?.message}`)
  const outcome = await Promise.race([once(child, 'spawn').then(() => undefined), failed])
  child.unref()
  return outcome
}
