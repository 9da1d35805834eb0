/** A real browser, Debian's Chromium, which trusts the authorities of a test and no others. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { chromium, type Browser } from 'playwright-core'

const run = promisify(execFile)

/** What it knows beside what the host does. */
export type BrowserWorld = {
  /** Certificates of authorities that it trusts, in PEM. */
  authorities?: readonly string[]
  /** Addresses of names, instead of the host's DNS. */
  names?: Readonly<Record<string, string>>
}

/** Starts one; `close` ends it, and removes what it stored. */
export async function launchChromium({ authorities = [], names = {} }: BrowserWorld = {}): Promise<Browser> {
  const home = mkdtempSync(join(tmpdir(), 'berth-browser-'))
  if (authorities.length > 0) await trust(home, authorities)
  const rules = Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`)
  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium',
    env: { ...process.env, HOME: home },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(rules.length > 0 ? [`--host-resolver-rules=${rules.join(',')}`] : []),
    ],
  })
  browser.once('disconnected', () => rmSync(home, { recursive: true, force: true }))
  return browser
}

/** Puts authorities where Chromium looks for those of its user. */
async function trust(home: string, authorities: readonly string[]): Promise<void> {
  const place = join(home, '.pki', 'nssdb')
  mkdirSync(place, { recursive: true })
  await run('certutil', ['-N', '-d', `sql:${place}`, '--empty-password'])
  for (const [at, pem] of authorities.entries()) {
    const file = join(home, `${at}.pem`)
    writeFileSync(file, pem)
    await run('certutil', ['-A', '-d', `sql:${place}`, '-n', `authority ${at}`, '-t', 'C,,', '-i', file])
  }
}
