import { BRAIN_KINDS, CONFIDENCE_THRESHOLD, MODEL_KINDS } from '../../option-values.ts'
import { address, count, flag, oneOf, optionalAddress, type Setting, share, someOf, text, word } from '../setting.ts'

/**
 * The settings of brains. A project may never set an address to which a key is sent, because it could name its own and get
 * the person's key.
 */
export const BRAIN_SETTINGS = {
  'brain.type': oneOf(BRAIN_KINDS, {
    standard: 'none',
    about: 'What forms opinions besides the rules: nothing, or a language model',
    project: 'tighten',
    tighten: (held, proposed) => (proposed === 'none' ? 'none' : held),
  }),
  'brain.fallbacks': someOf(MODEL_KINDS, {
    standard: [],
    about: 'Language models that are asked after it, in this order, when it is not confident',
    project: 'tighten',
    tighten: (held, proposed) => held.filter(each => proposed.includes(each)),
  }),
  'brain.timeout_seconds': count(1, {
    standard: 30,
    about: 'Seconds to wait for the opinion of a model; after that it has none',
    project: 'tighten',
    tighten: (held, proposed) => Math.min(held, proposed),
  }),
  'brain.confidence_threshold': share({
    standard: CONFIDENCE_THRESHOLD,
    about: 'Lowest confidence for an answer without a person',
    project: 'tighten',
    tighten: (held, proposed) => Math.max(held, proposed),
  }),
  'brain.auto_answer': flag({
    standard: true,
    about: 'Answer questions without a person',
    project: 'tighten',
    tighten: (held, proposed) => held && proposed,
  }),
  'brain.gemini.api_key': text({
    standard: undefined,
    about: 'API key, or "secret:NAME" or "env:NAME" to take it from there',
    project: 'trusted',
    secret: true,
  }),
  'brain.gemini.model': word({
    standard: 'gemini-2.0-flash',
    about: 'Model name',
    project: 'trusted',
  }),
  'brain.gemini.base_url': address({
    standard: 'https://generativelanguage.googleapis.com/v1beta',
    about: 'Address of the Gemini API',
    project: 'never',
  }),
  'brain.ollama.host': address({
    standard: 'http://localhost:11434',
    about: 'Address of the Ollama server',
    project: 'trusted',
  }),
  'brain.ollama.model': text({
    standard: undefined,
    about: 'Model name, such as deepseek-coder:33b',
    project: 'trusted',
  }),
  'brain.claude.model': word({
    standard: 'haiku',
    about: 'Model name or alias of Claude Code; it runs under the login of the session',
    project: 'trusted',
  }),
  'brain.openai_compatible.base_url': optionalAddress({
    standard: undefined,
    about: "Address of an endpoint with OpenAI's API, such as http://localhost:1234/v1",
    project: 'never',
  }),
  'brain.openai_compatible.api_key': text({
    standard: undefined,
    about: 'Its API key if it needs one, or "secret:NAME" or "env:NAME" to take it from there',
    project: 'trusted',
    secret: true,
  }),
  'brain.openai_compatible.model': text({
    standard: undefined,
    about: 'Model name',
    project: 'trusted',
  }),
  'brain.openai_compatible.json_schema': flag({
    standard: true,
    about: 'Ask for JSON of a given schema; false if the endpoint can only promise any JSON',
    project: 'trusted',
  }),
} as const satisfies Record<string, Setting>
