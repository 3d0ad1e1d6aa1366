import { flag, oneOf, onlyTo, optionalAddress, type Setting, text, word } from '../setting.ts'

const PROVIDERS = ['none', 'local', 'gemini', 'openai-compatible', 'hybrid'] as const

/**
 * What pcc knows about code. A project's file can neither name a server that gets its code, nor a model or a key: they are the
 * person's own, also if the project is trusted (`src/brain/embedder.ts`).
 */
export const KNOWLEDGE_SETTINGS = {
  'knowledge.enabled': flag({
    standard: true,
    about: 'Index the code of projects, so that people, agents and brains can search it',
    project: 'tighten',
    tighten: onlyTo(false),
  }),
  'knowledge.embedding_provider': oneOf(PROVIDERS, {
    standard: 'local',
    about: 'Who computes embeddings of code: Ollama, an API, or both, Ollama first. Search works without',
    project: 'tighten',
    tighten: (held, proposed) => (proposed === 'none' || (proposed === 'local' && held !== 'none') ? proposed : held),
  }),
  'knowledge.local_model': word({
    standard: 'nomic-embed-text',
    about: 'Embedding model of Ollama, which is at brain.ollama.host',
    project: 'never',
  }),
  'knowledge.gemini_model': word({
    standard: 'gemini-embedding-001',
    about: 'Embedding model of Gemini, with the key and address of brain.gemini',
    project: 'never',
  }),
  'knowledge.openai_compatible.base_url': optionalAddress({
    standard: undefined,
    about: "Address of a server with OpenAI's API that computes embeddings",
    project: 'never',
  }),
  'knowledge.openai_compatible.api_key': text({
    standard: undefined,
    about: 'Its API key if it needs one, or "secret:NAME" or "env:NAME" to take it from there',
    project: 'never',
    secret: true,
  }),
  'knowledge.openai_compatible.model': text({
    standard: undefined,
    about: 'Its embedding model',
    project: 'never',
  }),
  'knowledge.auto_index': flag({
    standard: true,
    about: 'Index again when a session starts',
    project: 'free',
  }),
} as const satisfies Record<string, Setting>
