/** Why the way out of a VM lets nobody reach a host: of a refused tunnel git and curl show the status, not what the proxy says. */
import { execInGuest } from './exec.ts'
import type { Machine } from '#src/drivers/compute/machine.ts'

const timeoutMs = 30_000
/**
 * Asks for the host without a tunnel, so that a refusal is an answer; one of the host itself is not shown, nor that it does not
 * answer: whoever speaks TLS alone closes such a connection.
 */
const script = `curl --silent --include --max-time 20 --proxy "$https_proxy" -- "http://$1/" | {
  read -r status
  case $status in *'(Berth: unreachable)'*) ;; *'(Berth: '*) tail -n 1 ;; esac
}`

/** A command for the guest that prints the refusal of this URL's host, and nothing where there is none; null for a URL that is not of HTTP. */
export function refusalArguments(url: string): string[] | null {
  const { protocol, hostname, port } = URL.parse(url) ?? {}
  if (protocol !== 'https:' && protocol !== 'http:') return null
  const usual = protocol === 'https:' ? '443' : '80'
  return ['/bin/dash', '-c', script, 'refusal', `${hostname}:${port === '' ? usual : port}`]
}

/** What the way out says of this URL's host; null where it says nothing. @throws BerthError vm_unreachable. */
export async function findRefusal(machine: Machine, url: string): Promise<string | null> {
  const argv = refusalArguments(url)
  if (!argv) return null
  const { stdout } = await execInGuest(machine, { argv, timeoutMs })
  return stdout.trim() || null
}
