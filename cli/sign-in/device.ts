/** Signing in on another device: this one shows a code, and asks until the person has entered it (RFC 8628). */
import { pause } from '../../src/client/chance.ts'
import type { Credential } from '../credentials.ts'
import { exits, Failure } from '../errors.ts'
import { deniedFailure, lateFailure } from './browser.ts'
import { credentialIn, postForm, reasonOf, type FormAnswer, type SignInServer } from './server.ts'

/** What the person needs. */
export type DeviceCode = { address: string; code: string }

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
/** Between two questions: what is usual, how much longer after each that came too soon, and at most. */
const intervalSeconds = { usual: 5, slower: 5, most: 60 }

/**
 * Signs in. `show` is given what the person needs; `wait` passes milliseconds.
 * @throws Failure when they deny it, or nobody has answered in time.
 */
export async function signInByDevice(
  server: SignInServer,
  {
    scope,
    timeoutSeconds,
    show,
    wait = pause,
  }: { scope: string; timeoutSeconds: number; show(code: DeviceCode): void; wait?: (ms: number) => Promise<void> },
): Promise<Credential> {
  if (!server.deviceAddress) throw new Failure('This Berth lets no devices in. Pass --token-file.', exits.signIn)
  const begun = await postForm(server.deviceAddress, { scope })
  const { device_code: code, user_code: userCode, verification_uri: address, interval, expires_in: lasts } = begun.body
  if (typeof code !== 'string' || typeof userCode !== 'string' || typeof address !== 'string')
    throw new Failure(reasonOf(begun), exits.signIn)
  show({ address, code: userCode })
  let seconds = typeof interval === 'number' ? clamped(interval) : intervalSeconds.usual
  const limitSeconds = Math.min(timeoutSeconds, typeof lasts === 'number' ? lasts : timeoutSeconds)
  const endsMs = performance.now() + limitSeconds * 1000
  for (;;) {
    const leftMs = endsMs - performance.now()
    if (leftMs <= 0) throw lateFailure(limitSeconds)
    await wait(Math.min(seconds * 1000, leftMs))
    const answer = await question(server, code)
    if (answer.status === 200) return credentialIn(answer, server)
    const { error } = answer.body
    if (error === 'authorization_pending') continue
    if (error === 'access_denied') throw deniedFailure()
    if (error === 'expired_token') throw new Failure(reasonOf(answer), exits.signIn)
    if (error !== 'slow_down' && answer.status !== 429 && answer.status < 500 && answer.status !== 0)
      throw new Failure(reasonOf(answer), exits.signIn)
    seconds = clamped(seconds + intervalSeconds.slower)
  }
}

/** An answer; without a connection one of status 0, as the network of a device comes and goes. */
async function question(server: SignInServer, code: string): Promise<FormAnswer> {
  try {
    return await postForm(server.tokenAddress, { grant_type: grantType, device_code: code })
  } catch (error) {
    if (error instanceof Failure) return { status: 0, body: {} }
    throw error
  }
}

function clamped(seconds: number): number {
  return Math.min(Math.max(seconds, 1), intervalSeconds.most)
}
