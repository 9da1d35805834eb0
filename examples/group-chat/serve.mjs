// A chat with a group in a web page: node examples/group-chat/serve.mjs, and open the address that it prints. Needs TOKEN.
// It makes a group of two agents; with the id of a group (serve.mjs grp_...) it shows that one. GROUP_CHAT_PORT is its port.
// The page calls its own server, which passes its requests on with the token: the browser never has it.
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { build } from 'vite' // comes with vitest

const { SERVER_URL = 'http://localhost:4000', TOKEN, GROUP_CHAT_PORT = '5173' } = process.env
if (!TOKEN) throw new Error('Set TOKEN first: see examples/README.md')
const authorization = `Bearer ${TOKEN}`

async function call(path, body) {
  const headers = { authorization, 'content-type': 'application/json' }
  const answer = await fetch(SERVER_URL + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

// Two agents with one machine, who are told what is said in the group.
async function makeGroup() {
  const { data } = await call('/graphql', { query: '{ viewer { organization { id } } }' })
  const { id: environment_id } = await call('/agents/v1/environments', { name: `group chat ${Date.now()}` })
  const member_ids = []
  for (const name of ['Ada', 'Ben']) {
    const agent = await call('/agents/v1/agents', { name, model: 'berth/demo' })
    member_ids.push((await call('/agents/v1/sessions', { agent: agent.id, environment_id })).id)
  }
  return (await call('/agents/v1/groups', { org_id: data.viewer.organization.id, member_ids })).id
}

const bundle = await build({
  root: fileURLToPath(new URL('.', import.meta.url)),
  configFile: false,
  logLevel: 'error',
  build: { write: false, rolldownOptions: { input: fileURLToPath(new URL('page.js', import.meta.url)) } },
})
const script = bundle.output[0].code
const html = '<!doctype html><meta charset="utf-8"><title>A chat with a group</title><script type="module" src="/page.js"></script><body>'

async function pass(request, response) {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const answer = await fetch(SERVER_URL + request.url, {
    method: request.method,
    headers: { authorization, 'content-type': 'application/json' },
    ...(request.method === 'GET' ? {} : { body: Readable.toWeb(request), duplex: 'half' }),
    signal: gone.signal,
  })
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
  if (answer.body) Readable.fromWeb(answer.body).on('error', () => response.destroy()).pipe(response)
  else response.end()
}

const server = createServer((request, response) => {
  if (request.url.startsWith('/agents/v1/groups/')) pass(request, response).catch(() => response.destroy())
  else if (request.url === '/page.js') response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
  else response.writeHead(200, { 'content-type': 'text/html' }).end(html)
})
const group = process.argv[2] ?? (await makeGroup())
server.listen(Number(GROUP_CHAT_PORT), '127.0.0.1', () => console.log(`http://localhost:${server.address().port}/?group=${group}`))
