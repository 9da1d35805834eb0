// The page of a chat with a group: its transcript, and each reply while it is written, by the AI SDK's useChat.
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { createElement as h, useEffect, useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'

const group = new URLSearchParams(location.search).get('group')

async function call(method, path, body) {
  const sent = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(`/agents/v1/groups/${group}${path}`, { method, ...sent })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.status === 204 ? null : answer.json()
}

// The stream of a run. useChat reads its chunks, but not their numbers: they are kept here, so that a stream which breaks
// off goes on after the last one. A page that is loaded anew begins with the first.
function transportOf(runId) {
  let last = 0
  const noting = () => {
    const decoder = new TextDecoder()
    let rest = ''
    return new TransformStream({
      transform(bytes, out) {
        out.enqueue(bytes)
        const frames = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
        rest = frames.pop()
        for (const frame of frames) last = Number(/^id: (\d+)$/m.exec(frame)?.[1] ?? last)
      },
    })
  }
  return new DefaultChatTransport({
    prepareReconnectToStreamRequest: () => ({ api: `/agents/v1/groups/${group}/runs/${runId}/stream?after=${last}` }),
    fetch: async (...request) => {
      const answer = await fetch(...request)
      return answer.ok && answer.body ? new Response(answer.body.pipeThrough(noting()), answer) : answer // 204: nothing to resume
    },
  })
}

function Reply({ run }) {
  const transport = useMemo(() => transportOf(run.run_id), [run.run_id])
  const [state, setState] = useState(run.status)
  const onData = (part) => part.type === 'data-group-run' && setState(part.data.status)
  const { messages, error, resumeStream } = useChat({
    id: run.run_id,
    transport,
    resume: true,
    onData,
    onFinish: ({ isDisconnect }) => isDisconnect && setTimeout(() => void resumeStream(), 1000),
  })
  const path = `/runs/${run.run_id}`
  const parts = messages.flatMap((message) => message.parts)
  const said = parts.length === 0 && run.reply ? [{ type: 'text', text: run.reply.text }] : parts
  const isOpen = ['queued', 'running', 'requires_action'].includes(state)
  return h(
    'article',
    { id: run.run_id },
    said.map((part, at) => h(Part, { key: at, part, path })),
    h('p', null, h('small', null, `${state} ${error ? error.message : ''}`)),
    isOpen && h('button', { onClick: () => call('POST', `${path}/stop`) }, 'Stop'),
  )
}

function Part({ part, path }) {
  if (part.type === 'text') return h('p', null, part.text)
  if (!part.type.startsWith('tool-')) return null
  const answer = (approved) => call('POST', `${path}/approvals/${part.approval.id}`, { approved })
  return h(
    'div',
    null,
    h('code', null, `${part.type.slice(5)} ${JSON.stringify(part.input)} ${part.output ?? part.errorText ?? part.state}`),
    part.state === 'approval-requested' && h('button', { onClick: () => answer(true) }, 'Allow'),
    part.state === 'approval-requested' && h('button', { onClick: () => answer(false) }, 'Deny'),
    part.type === 'tool-ask_user' &&
      part.state === 'input-available' &&
      h(Line, { name: 'Answer', onLine: (text) => call('POST', `${path}/questions/${part.toolCallId}`, { answer: text }) }),
  )
}

function Line({ name, onLine }) {
  const onSubmit = (event) => {
    event.preventDefault()
    onLine(new FormData(event.target).get('text'))
    event.target.reset()
  }
  return h('form', { onSubmit }, h('textarea', { name: 'text', required: true }), h('button', null, name))
}

function Chat() {
  const [{ messages, runs }, setSeen] = useState({ messages: [], runs: [] })
  useEffect(() => {
    void call('GET', '').then(({ transcript, runs: known }) => setSeen({ messages: transcript, runs: known }))
  }, [])
  const say = async (text) => {
    const sent = await call('POST', '/messages', { text })
    setSeen({ messages: [...messages, sent.message], runs: [...runs, ...sent.runs] })
  }
  const shown = new Set(runs.map((run) => run.run_id))
  return h(
    'main',
    null,
    messages
      .filter((message) => !shown.has(message.run_id))
      .map((message) => h('p', { key: message.id }, h('b', null, `${message.author.handle}: `), message.text)),
    runs.map((run) => h(Reply, { key: run.run_id, run })),
    h(Line, { name: 'Send', onLine: say }),
  )
}

createRoot(document.body).render(h(Chat))
