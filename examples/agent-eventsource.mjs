// A run of one of Berth's own agents, followed by EventSource. A browser has it built in; there, leave the import out.
// EventSource sends no headers, so the token is in the address; it resumes by itself where it was cut. Needs TOKEN.
import { EventSource } from 'eventsource'

const { SERVER_URL = 'http://localhost:4000', TOKEN } = process.env
const answer = await fetch(`${SERVER_URL}/agents/v1/runs`, {
  method: 'POST',
  headers: { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
  body: JSON.stringify({ mode: 'chat', input: '!say Hello from a run.' }),
})
if (!answer.ok) throw new Error(await answer.text())
const { session_id: session } = await answer.json()

const source = new EventSource(`${SERVER_URL}/agents/v1/sessions/${session}/events/stream?replay=1&token=${TOKEN}`)
source.onmessage = ({ data }) => {
  const event = JSON.parse(data)
  console.log(event.type)
  if (event.type === 'agent.message') console.log(event.content.map(({ text }) => text).join(''))
  if (event.type === 'session.status_idle') source.close()
}
