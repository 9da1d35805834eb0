/** The sign-in of this machine: without a password, for who may start programs here. */
import { userInfo } from 'node:os'
import { exits, Failure } from '../errors.ts'
import type { Given } from '../grammar.ts'
import { readText } from '../inputs.ts'
import { ask } from '../prompts.ts'

/** Signs in as the options say, and asks for what they do not. @returns a token. */
export async function signInAtMachine(url: URL, options: Given): Promise<string> {
  const user = options.text('user') ?? (await ask('Your name?', { flag: '--user', usual: userInfo().username }))
  const organization = options.text('organization') ?? (await ask('Organization?', { flag: '--organization' }))
  const body = { user, organization, role: options.text('role') ?? 'owner', create: options.flag('create') }
  const codeFile = options.text('code-file')
  const code = codeFile === undefined ? '' : (await readText(codeFile)).trim()
  const first = await signIn(url, { ...body, code })
  if (first.error !== 'sign_in_code_required' || code !== '') return tokenOf(first)
  return tokenOf(
    await signIn(url, {
      ...body,
      code: await ask('The code that Berth printed when it started?', { flag: '--code-file' }),
    }),
  )
}

type SignIn = { status: number; token?: string; error?: string; message?: string }

async function signIn(url: URL, body: Record<string, unknown>): Promise<SignIn> {
  let answer: Response
  try {
    answer = await fetch(new URL('/identity/token', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: url.origin, 'x-berth-sign-in': '1' },
      body: JSON.stringify(body),
    })
  } catch (error) {
    throw new Failure(
      `There is no connection to ${url.origin}: ${error instanceof Error ? error.message : String(error)}.`,
      exits.noConnection,
    )
  }
  const read = (await answer.json().catch(() => ({}))) as Omit<SignIn, 'status'> // the status says enough when there is no JSON
  return { ...read, status: answer.status }
}

function tokenOf({ token, message, status }: SignIn): string {
  if (token) return token
  throw new Failure(
    message?.replace('Tick “new names” to create it.', 'Pass --create to make it.') ??
      `Signing in was answered with the HTTP status ${status}.`,
    status === 429 ? exits.limit : exits.signIn,
  )
}
