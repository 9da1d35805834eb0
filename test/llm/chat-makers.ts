/** Models and bodies for tests of the chat routes. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, type Config } from '#src/platform/config.ts'
import { BerthError } from '#src/platform/errors.ts'

/** Models of three families and for embeddings at one upstream; prices are 0, so that no credits are needed. `{url}` is the upstream's. */
const modelsFile = `
upstreams:
  openai: { kind: openai, base_url: "{url}/v1", api_key_env: null }
  anthropic: { kind: anthropic, base_url: "{url}/v1", api_key_env: null }
  local: { kind: openai-compatible, base_url: "{url}/v1" }
  spare: { kind: openai-compatible, base_url: "{url}/v1" }
models:
  test/signed: { display_name: Signed, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools, vision, pdf], reasoning: { levels: [none, low, high], default: none }, pricing: { input: "0", output: "0" }, upstreams: [{ upstream: anthropic, model: mock-signed }] }
  test/sealed: { display_name: Sealed, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools, vision, pdf], reasoning: { levels: [low, high], default: low }, pricing: { input: "0", output: "0" }, upstreams: [{ upstream: openai, model: mock-sealed }] }
  test/plain: { display_name: Plain, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools, vision], pricing: { input: "0", output: "0" }, upstreams: [{ upstream: local, model: mock-plain }] }
  test/gemini: { display_name: Gemini, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools, vision], pricing: { input: "0", output: "0" }, upstreams: [{ upstream: local, model: mock-gemini }] }
  test/mute: { display_name: Mute, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [], pricing: { input: "0", output: "0" }, upstreams: [{ upstream: local, model: mock-mute }] }
  test/doubled: { display_name: Doubled, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools], pricing: { input: "0", output: "0" }, upstreams: [{ upstream: local, model: mock-one }, { upstream: spare, model: mock-two }] }
  test/mixed: { display_name: Mixed, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools], pricing: { input: "0", output: "0" }, upstreams: [{ upstream: openai, model: mock-first }, { upstream: anthropic, model: mock-second }, { upstream: local, model: mock-third }] }
  test/dear: { display_name: Dear, created_at: 2026-01-01, context_window: 100000, max_output_tokens: 4096, capabilities: [tools], pricing: { input: "10", output: "100" }, upstreams: [{ upstream: local, model: mock-dear }] }
  test/vectors: { kind: embeddings, context_window: 100, dimensions: 4, upstreams: [{ upstream: local, model: mock-vectors-4 }] }
  test/packed: { kind: embeddings, context_window: 100, dimensions: 8, flexible_dimensions: true, upstreams: [{ upstream: openai, model: mock-vectors-8 }] }
  test/large-vectors: { kind: embeddings, context_window: 100, dimensions: 16384, upstreams: [{ upstream: openai, model: mock-vectors-16384 }] }
  test/doubled-vectors: { kind: embeddings, context_window: 100, dimensions: 4, upstreams: [{ upstream: local, model: mock-vectors-4 }, { upstream: spare, model: mock-vectors-4 }] }
  test/dear-vectors: { kind: embeddings, context_window: 100, dimensions: 4, pricing: { input: "2" }, upstreams: [{ upstream: local, model: mock-vectors-4 }] }
`

/** A configuration with these models, and nothing running. */
export function makeConfig(): { config: Config; remove: () => void } {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-chat-'))
  const path = writeModels(dataDir, 'http://127.0.0.1:9')
  return {
    config: readConfig({ BERTH_DATA_DIR: dataDir, BERTH_MODELS_FILE: path }),
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  }
}

/** Writes the models into the folder, served at this address. */
export function writeModels(folder: string, url: string): string {
  const path = join(folder, 'models.yaml')
  writeFileSync(path, modelsFile.replaceAll('{url}', url))
  return path
}

/** What the work refuses with; fails when it refuses nothing. */
export function refusal(work: () => unknown): { code: string; message: string } {
  try {
    work()
  } catch (error) {
    if (!(error instanceof BerthError)) throw error
    return { code: error.code, message: error.message }
  }
  throw new Error('nothing was refused')
}
