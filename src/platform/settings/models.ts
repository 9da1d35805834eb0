/** The settings of models and chats. */
import { optional, setting } from './entries.ts'
import { keyOf, onOff, path, text } from './readers.ts'

/** A part of the table of settings. */
export const modelSettings = {
  openaiApiKey: optional('OPENAI_API_KEY', keyOf('OpenAI'), 'switches on the models of OpenAI'),
  anthropicApiKey: optional('ANTHROPIC_API_KEY', keyOf('Anthropic'), 'switches on the models of Anthropic'),
  modelsFile: optional(
    'BERTH_MODELS_FILE',
    path('a file of models and upstreams; see "Models of your own" in docs/models.md'),
    'your models and upstreams, in the form of [models.yaml](src/resources/llm/models/models.yaml)',
    "none: Berth's own table",
  ),
  memoryModel: optional(
    'BERTH_MEMORY_MODEL',
    text('the id of a model of kind embeddings'),
    'the model for embeddings by which [memories](docs/memories.md#semantic-search) are found by their meaning, too',
    'none: by their words only',
  ),
  chatJoinStreams: setting(
    'BERTH_CHAT_JOIN_STREAMS',
    onOff,
    false,
    'whether chat completions with tools or reasoning and without `stream: true` are answered, by joining a stream; `off` refuses them',
  ),
}
