/** The language models that can form opinions beside the rules, by the word that `brain.type` and `--brain` take. */
export const MODEL_KINDS = ['gemini', 'ollama', 'claude', 'openai-compatible'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** What `brain.type` may be: `none` is the rules alone. */
export const BRAIN_KINDS = ['none', ...MODEL_KINDS] as const
export type BrainKind = (typeof BRAIN_KINDS)[number]

/** The setting that holds the model's name: what `--brain-model` stands for with this kind of brain. */
export const MODEL_SETTING = {
  gemini: 'brain.gemini.model',
  ollama: 'brain.ollama.model',
  claude: 'brain.claude.model',
  'openai-compatible': 'brain.openai_compatible.model',
} as const satisfies Record<ModelKind, string>
