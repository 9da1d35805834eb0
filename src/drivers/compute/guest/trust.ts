/**
 * Makes a guest trust the node's authority, so that its programs accept the egress proxy in place of the hosts of their
 * secrets.
 */
import { execInGuest } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'

const timeoutMs = 20_000

/** Debian's list of authorities, which most programs read by themselves. */
const bundle = '/etc/ssl/certs/ca-certificates.crt'

/** For libraries with a list of their own: Python's httpx and requests. The template configures Node and npm. */
const variables = { SSL_CERT_FILE: bundle, REQUESTS_CA_BUNDLE: bundle }

/**
 * On the guest's disk, so it survives a stop and a pause. `update-ca-certificates` would take half a minute under
 * emulation to put one certificate at the end of a file; when the guest runs it, it finds the certificate and does it
 * again.
 */
const script = `set -e
own=/usr/local/share/ca-certificates/berth-egress.crt
new=$(cat)
grep -qxF "$(printf '%s' "$new" | sed -n 2p)" ${bundle} && exit 0
mkdir -p /usr/local/share/ca-certificates
printf '%s\\n' "$new" > $own
cat ${bundle} $own > ${bundle}.next
chmod 644 ${bundle}.next
mv ${bundle}.next ${bundle}`

/**
 * Installs the authority unless it is there.
 * @param certificate of the authority, PEM.
 * @returns the variables that commands need beside it. A guest that broke its own list of authorities gets them anyway.
 * @throws BerthError vm_unreachable
 */
export async function trustAuthority(machine: Machine, certificate: string): Promise<Record<string, string>> {
  await execInGuest(machine, { argv: ['/bin/dash', '-c', script], as: 'root', stdin: certificate, timeoutMs })
  return variables
}
