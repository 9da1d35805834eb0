/** The sessions of a person in browsers, in GraphQL. */
import { builder } from '#schema/builder.ts'
import { actionOn } from '#schema/mutations.ts'
import { nodeOf, times } from '#schema/nodes.ts'
import { browserSessionLimits } from '#src/resources/identity/browser-sessions/limits.ts'
import {
  findBrowserSessions,
  isCurrent,
  listBrowserSessions,
  revokeBrowserSession,
} from '#src/resources/identity/browser-sessions.ts'
import { viewerType } from './viewer.ts'

const sessionType = nodeOf('BrowserSession', findBrowserSessions)
const { lifetimeDays, idleHours } = browserSessionLimits

builder.objectType(sessionType, {
  description: `A session of a person in a browser, for which a cookie stands. It ends after ${lifetimeDays} days, or ${idleHours} hours without use.`,
  fields: (t) => ({
    isCurrent: t.boolean({
      description: 'Whether this request came with its cookie.',
      resolve: (session, _, call) => isCurrent(call, session),
    }),
    userAgent: t.exposeString('userAgent', { description: 'What its browser called itself when it began.' }),
    address: t.exposeString('address', { description: 'The address that it began from.' }),
    ...times(t, 'createdAt'),
    usedAt: t.expose('usedAt', { type: 'DateTime', description: 'When it was last used, to the minute.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends at the latest.' }),
  }),
})

builder.objectField(viewerType, 'browserSessions', (t) =>
  t.field({
    type: [sessionType],
    nullable: true,
    description: 'The person’s sessions in browsers, the one that was used last first; null for a key.',
    resolve: (_viewer, _arguments, call) => listBrowserSessions(call),
  }),
)

actionOn(
  'revokeBrowserSession',
  { field: 'browserSession', type: sessionType },
  'Ends one of your sessions in browsers: its cookie is refused, and what it follows ends, within a second. Errors: NOT_FOUND.',
  revokeBrowserSession,
)
