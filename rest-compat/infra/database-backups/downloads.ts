/** The file of a backup: `GET /api/v1/databases/{db_id}/backups/{backup_id}/download`. */
import { bearerOf } from '#schema/context.ts'
import { BerthError } from '#src/platform/errors.ts'
import { setAllowance } from '#src/platform/http/headers.ts'
import { spendRequest } from '#src/platform/rate-limits.ts'
import { findUnknownKey, unknownKeySentence } from '#src/platform/shapes/unknown-keys.ts'
import { getDownloadUrl } from '#src/resources/infra/database-backups/downloads.ts'
import { contextOf } from '../../answers.ts'
import { handleAdmitted } from '../../byte-streams.ts'
import type { HandWritten } from '../../routes.ts'

/** Sends on to the signed URL of the file, which the object store serves by ranges. */
export const downloadBackupRoute: HandWritten = {
  reason: 'The answer is where the file is, and not a JSON body.',
  name: 'downloadBackup',
  status: 303,
  errors: [400, 404],
  summary: 'Sends on to a signed URL of the backup’s file, which is valid for an hour and takes Range',
  requests: {},
  responses: {},
  headers: { Location: 'The signed URL. Whoever has it may get the file.' },
  additive: true,
  make: ({ services, authenticator }) =>
    handleAdmitted(
      async (request, reply) => {
        const caller = await authenticator.authenticate(bearerOf(request.headers))
        setAllowance(reply, await spendRequest(services.limiter, caller, false))
        const unknown = findUnknownKey(request.query as object, new Set()) // as Fastify reads it
        if (unknown !== undefined)
          throw new BerthError('invalid_request', unknownKeySentence('query parameter', unknown, []))
        return contextOf(services, caller, request)
      },
      async (call, request, reply) => {
        const { db_id: databaseId = '', backup_id: backupId = '' } = request.params as Record<string, string> // the route's pattern has both
        const location = await getDownloadUrl(call, databaseId, backupId)
        return reply.code(303).headers({ location, 'cache-control': 'no-store' }).send()
      },
    ),
}
