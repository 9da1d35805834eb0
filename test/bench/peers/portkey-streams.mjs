// The peer's release of 1.15.2 answers 500 to every stream on this Node: it appends to the headers of fetch's own answer,
// which cannot be changed. Loaded before it, this hands it an answer whose headers can; nothing else is different.
const realFetch = globalThis.fetch
globalThis.fetch = async (...words) => {
  const answer = await realFetch(...words)
  return new Response(answer.body, { status: answer.status, statusText: answer.statusText, headers: new Headers(answer.headers) })
}
