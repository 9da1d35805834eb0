/** Identity providers: those whose tokens are taken, and those that people sign in with in the browser. */
import { z } from 'zod'
import type { Reader } from './readers.ts'

const issuersMax = 32
const nameShape = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/)

/** One as it is set. Its tokens are taken where `jwksUri` says; people sign in with it where `clientId` does. */
export type Issuer = {
  issuer: string
  jwksUri: string | null
  audience: string
  clientId: string | null
  clientSecretFile: string | null
  /** In the address of its sign-in, and on the button. */
  name: string
}
/** One that people sign in with. */
export type SignInProvider = Issuer & { clientId: string }

const shape = z
  .strictObject({
    issuer: z.url(),
    jwks_uri: z.url().optional(),
    audience: z.string().min(1).default('berth'),
    client_id: z.string().min(1).max(255).optional(),
    client_secret_file: z.string().startsWith('/').optional(),
    name: nameShape.default('sso'),
  })
  .refine((one) => one.jwks_uri !== undefined || one.client_id !== undefined)
  .transform((one) => ({
    issuer: one.issuer,
    jwksUri: one.jwks_uri ?? null,
    audience: one.audience,
    clientId: one.client_id ?? null,
    clientSecretFile: one.client_secret_file ?? null,
    name: one.name,
  }))

/** The setting, as JSON. */
export const issuers: Reader<readonly Issuer[]> = {
  kind: z
    .string()
    .transform((given, ctx) => {
      try {
        return JSON.parse(given) as unknown
      } catch {
        ctx.addIssue('not JSON')
        return z.NEVER
      }
    })
    .pipe(z.array(shape).max(issuersMax))
    .refine((all) => {
      const names = signInProvidersOf(all).map(({ name }) => name)
      return new Set(names).size === names.length
    }),
  wanted:
    'a JSON list of {"issuer","jwks_uri","audience"}; for sign-in in the browser with "client_id", "client_secret_file" (absolute) and a "name" of its own',
}

/** Those of a list that people sign in with. */
export function signInProvidersOf(all: readonly Issuer[]): SignInProvider[] {
  return all.flatMap((one) => (one.clientId === null ? [] : [{ ...one, clientId: one.clientId }]))
}
