// A chat by the transport of the AI SDK, which is what `useChat` uses in a browser. Needs KEY.
// In a web page keep the key on your server: let the page call your own origin, and pass its requests on with the header.
import { DefaultChatTransport, readUIMessageStream } from 'ai'

const { SERVER_URL = 'http://localhost:4000', KEY } = process.env
const transport = new DefaultChatTransport({
  api: `${SERVER_URL}/llm/v1/chat`,
  headers: { Authorization: `Bearer ${KEY}` },
  body: { model: 'berth/demo' },
})
const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Hello!' }] }]
const stream = await transport.sendMessages({ chatId: '1', trigger: 'submit-message', messages })
let answer
for await (const message of readUIMessageStream({ stream })) answer = message
for (const part of answer.parts) if (part.type === 'text') console.log(part.text)
