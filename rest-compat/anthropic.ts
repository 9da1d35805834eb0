/** `/anthropic`: one base address for Anthropic's clients, whose parts the gateway and the agents service have. */

const base = '/anthropic'
/** What the gateway has, or says of it what to use instead. */
const ofGateway = /^\/v1\/(?:messages|models|complete)(?:[/?]|$)/

/** The address at which a request is served: itself, unless it begins with the base address. */
export function servedAt(url: string): string {
  if (!url.startsWith(`${base}/`)) return url
  const path = url.slice(base.length)
  return (ofGateway.test(path) ? '/llm' : '/agents') + path
}

const oneAddress = `with the base URL ${base} one client has both.`

/** What Anthropic's clients ask the agents service for, and the gateway has. */
export const gatewaysOwn = {
  '/v1/messages': `Messages are at /llm/v1/messages; ${oneAddress}`,
}

/** The other way round. */
export const agentsOwn = Object.fromEntries(
  ['agents', 'deployments', 'environments', 'files', 'sessions', 'skills', 'vaults'].map((noun) => [
    `/v1/${noun}`,
    `It is at /agents/v1/${noun}; ${oneAddress}`,
  ]),
)
