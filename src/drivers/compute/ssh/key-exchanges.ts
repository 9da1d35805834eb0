/** How often a guest may renegotiate the keys of its SSH connection. */
import type { Client } from 'ssh2'

/** Each costs a millisecond. dropbear renegotiates keys after every GiB. */
const keyExchangesPerMinute = 60

/** Refuses a guest that does it too often. */
export function limitKeyExchanges(client: Client, refuse: (reason: string) => void): void {
  const minuteMs = 60_000
  let sinceMs = performance.now()
  let exchanges = 0
  client.on('handshake', () => {
    if (performance.now() - sinceMs > minuteMs) [sinceMs, exchanges] = [performance.now(), 0]
    if (++exchanges > keyExchangesPerMinute) refuse('it renegotiates keys too often')
  })
}
