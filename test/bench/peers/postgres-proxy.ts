/** The wire proxy as a process of its own, for benchmarks: `node test/bench/peers/postgres-proxy.ts <server port> <port> [secured]`. */
import { connect } from 'node:net'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { ownCertificate } from '#src/edge/postgres/logins/certificates.ts'
import type { Admission } from '#src/edge/postgres/directory.ts'
import { openProxy } from '#src/edge/postgres/proxy.ts'
import { makeVerifier } from '#src/platform/secrets/scram-verifiers.ts'
import { limits } from '#src/platform/limits.ts'
import { createSealer } from '#src/platform/secrets.ts'

const [serverPort = '', port = '', secured] = process.argv.slice(2)
const verifier = await makeVerifier('bench')

/** A connection to the server, as soon as it is one. */
function open(): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(serverPort), host: '127.0.0.1', noDelay: true })
    socket.once('error', reject).once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
const admission: Admission = {
  databaseId: 'bench',
  organizationId: 'bench',
  kind: 'owner',
  refusal: null,
  server: { user: 'postgres', database: 'bench', password: null },
  backendsMax: 90,
  backendsShared: limits.postgresBackendsShared,
  prepare: null,
  workMs: null,
  isCurrent: () => true,
  onLoginLost: () => Promise.resolve(false),
  connect: open,
  onActivity: () => undefined,
}
await openProxy({
  host: '127.0.0.1',
  port: Number(port),
  directory: {
    find: async () => (secured ? { by: 'password', verifier, admission } : { by: 'nothing', admission }),
    watch: () => () => undefined,
  },
  certificates: ownCertificate(mkdtempSync(join(tmpdir(), 'berth-bench-')), 'berth.localhost'),
  derive: createSealer([Buffer.alloc(32)]).derive,
  plainText: secured ? 'of nobody' : 'of everybody',
})
process.stdout.write('listens\n')
