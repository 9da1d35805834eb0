/** This Berth, as anybody may know it who can reach it: what a client shows and asks for before somebody has signed in. */
import { readFileSync } from 'node:fs'
import { parseExactly } from '#src/platform/json/numbers.ts'
import { limits } from '#src/platform/limits.ts'
import { signInProvidersOf } from '#src/platform/settings/issuers.ts'
import type { Call } from '#src/platform/services.ts'
import { offersSignIn } from '#src/platform/tokens/sign-in-code.ts'

/** Rates are those of one organization, or of a caller without one, as the operator set them. */
export type Instance = {
  version: string
  hasLocalSignIn: boolean
  /** Whether invitations can be sent by e-mail. */
  canSendMail: boolean
  /** The URLs of the identity providers whose tokens are taken, beside the built-in one. */
  issuers: string[]
  /** Those that people sign in with in the browser, by the names in the addresses of their sign-in. */
  signInProviders: string[]
  limits: {
    pageSizeMax: number
    operationObjectsMax: number
    requestsPerMinute: number
    createsPerMinute: number
    imageBytesMax: number
    documentBytesMax: number
  }
}

/** The release of this code: package.json says it. */
const { version } = parseExactly(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** This Berth. Needs no permission, and no caller. */
export function readInstance({ config }: Pick<Call, 'config'>): Instance {
  return {
    version,
    hasLocalSignIn: offersSignIn(config),
    issuers: config.issuers.flatMap(({ issuer, jwksUri }) => (jwksUri === null ? [] : [issuer])),
    signInProviders: signInProvidersOf(config.issuers).map(({ name }) => name),
    canSendMail: config.smtpUrl !== null,
    limits: {
      pageSizeMax: limits.connectionFirstMax,
      operationObjectsMax: limits.graphqlCost,
      requestsPerMinute: limits.otherPerMinute * config.rateLimitFactor,
      createsPerMinute: limits.createsPerMinute * config.rateLimitFactor,
      imageBytesMax: limits.imageBytes,
      documentBytesMax: limits.documentBytes,
    },
  }
}
