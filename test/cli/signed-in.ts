/** People whose command line is let in by their browser. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Browser, OAuthWorld } from '../identity/oauth/world.ts'
import { makePerson, type Ended, type Person, type Running } from './command.ts'

/** Somebody who sits at a screen, so that login takes the browser. */
export const atScreen = { DISPLAY: ':99', SSH_CONNECTION: '', SSH_TTY: '' }

/** What is kept of a sign-in. */
export type Kept = {
  token: string
  grant: { refreshToken: string; endsAtSeconds: number; tokenAddress: string; revokeAddress: string }
}

/** Where a person's tokens are. */
export const credentialsFile = ({ home }: Person): string => join(home, 'state/berth/credentials.json')

/** The one credential that is kept. */
export function keptBy(person: Person): Kept {
  const all = Object.values(JSON.parse(readFileSync(credentialsFile(person), 'utf8')) as Record<string, Kept>)
  expect(all).toHaveLength(1)
  return all[0] as Kept // there is one
}

/** Changes what is kept. */
export function keep(person: Person, changes: { token?: string; grant?: Partial<Kept['grant']> }): void {
  const all = JSON.parse(readFileSync(credentialsFile(person), 'utf8')) as Record<string, Kept>
  for (const one of Object.values(all)) {
    if (changes.token !== undefined) one.token = changes.token
    Object.assign(one.grant, changes.grant)
  }
  writeFileSync(credentialsFile(person), JSON.stringify(all))
}

/** The address that a login asks its person to open. */
export async function addressOf(login: Running): Promise<URL> {
  await login.printed('code_challenge_method=S256')
  return new URL(/^http:\S+$/m.exec(login.text())?.[0] ?? '')
}

/** Signs in a new person, whose browser lets the command line in. */
export async function signedIn(
  world: OAuthWorld,
  browser: Browser,
  words: readonly string[] = [],
): Promise<Person & { login: Ended }> {
  const person = makePerson(atScreen)
  return { ...person, login: await letIn(world, browser, person, words) }
}

/** Signs a person in. */
export async function letIn(
  world: OAuthWorld,
  browser: Browser,
  person: Person,
  words: readonly string[] = [],
): Promise<Ended> {
  const login = person.start(['login', world.origin, ...words])
  const back = await world.allow(browser, await world.requestAt(await addressOf(login)))
  expect((await fetch(back)).status).toBe(200)
  return login.ended
}
