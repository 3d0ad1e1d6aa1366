/** The kinds of language models that can form opinions besides the rules, as named in `brain.type` and `--brain`. */
export const MODEL_KINDS = ['gemini', 'ollama', 'claude', 'openai-compatible'] as const
export type ModelKind = (typeof MODEL_KINDS)[number]

/** The default of `brain.confidence_threshold`. */
export const CONFIDENCE_THRESHOLD = 0.7

/** The values of `brain.type`; `none` means the rules alone. */
export const BRAIN_KINDS = ['none', ...MODEL_KINDS] as const
export type BrainKind = (typeof BRAIN_KINDS)[number]

/** The setting that `--brain-model` overrides, by kind of brain. */
export const MODEL_SETTING = {
  gemini: 'brain.gemini.model',
  ollama: 'brain.ollama.model',
  claude: 'brain.claude.model',
  'openai-compatible': 'brain.openai_compatible.model',
} as const satisfies Record<ModelKind, string>

/** How a run picks the model of its next attempt. A plain list instead of zod, because settings are read on the hot path (docs/adr/0005). */
export const MODEL_STRATEGIES = ['fixed', 'cost-optimized', 'escalate', 'plan-then-execute'] as const

export type ModelStrategy = (typeof MODEL_STRATEGIES)[number]

/** The most agents at once; each takes some 200 MB. */
export const MAX_PARALLEL_AGENTS = 64

/** Gates whose commands a person may set, in the order in which they run: the quickest result comes first. */
export const GATE_COMMANDS = ['build', 'typecheck', 'lint', 'test'] as const
export type GateCommand = (typeof GATE_COMMANDS)[number]

/** How much is checked before a task is done; each profile includes the previous one. */
export const GATE_PROFILES = ['quick', 'standard', 'deep'] as const
export type GateProfile = (typeof GATE_PROFILES)[number]

/** How much is checked before an agent that a person started may end its turn. */
export const HOOK_GATES = ['off', ...GATE_PROFILES] as const

/** Where an agent's process runs if it is not our own child: `tmux` is a terminal that a person can enter. */
export const SESSION_HOSTS = ['tmux'] as const
export type SessionHost = (typeof SESSION_HOSTS)[number]

/** How the confidence of experience is computed: outcomes that fade, with a lower bound, or steps up and down. */
export const LEARNING_RULES = ['beta', 'seed'] as const
export type LearningRule = (typeof LEARNING_RULES)[number]

/** The algorithms of JSON web tokens that can count; `none` never does. */
export const JWT_ALGORITHMS = ['HS256', 'RS256', 'PS256', 'ES256', 'EdDSA'] as const

/** Programs whose messages pcc understands by itself (`/webhook/<name>`). A person's own webhook cannot have one of these names. */
export const WEBHOOK_SOURCES = ['github', 'prometheus', 'telegram'] as const
export type WebhookSource = (typeof WEBHOOK_SOURCES)[number]

/** The ways to reach a person. */
export const CHANNELS = ['desktop', 'bell', 'ntfy', 'slack', 'telegram'] as const
export type ChannelName = (typeof CHANNELS)[number]

/** What people are notified of; the switches `notifications.on_…` have the same names. */
export const NOTICE_KINDS = ['question', 'complete', 'rate_limit', 'error', 'report'] as const
export type NoticeKind = (typeof NOTICE_KINDS)[number]

/** What a caller of the API may do, from little to everything; each includes the ones before it. */
export const SCOPES = ['read', 'work', 'decide', 'admin'] as const

/**
 * What becomes of a message of a webhook. `waiting`: it is stored and not worked on yet. `starting`: its task is stored, its run is not started yet.
 * `ignored`: it is nothing that pcc acts on. `refused`: it is, but not from there, not by them or not now. `failed`: given up.
 * The last two can be tried again while their text is stored.
 */
export const DELIVERY_STATES = ['waiting', 'starting', 'done', 'ignored', 'refused', 'failed'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** How work gets into its target branch. */
export const MERGE_STRATEGIES = ['rebase', 'merge', 'squash'] as const
export type MergeStrategy = (typeof MERGE_STRATEGIES)[number]

/** Prefix of the keys of work that waits because some tests failed before the work began. Commands read it on the hot path: keep zod out of this file. */
export const FAILED_BEFORE_KEY = 'failed-before:'

/** The windows of an account that are known: their names in words and their lengths. `hour` is our own count. */
export const WINDOWS = {
  hour: { name: '1-hour', hours: 1 },
  five_hour: { name: '5-hour', hours: 5 },
  one_day: { name: '1-day', hours: 24 },
  seven_day: { name: '7-day', hours: 168 },
  seven_day_opus: { name: '7-day Opus', hours: 168 },
  seven_day_sonnet: { name: '7-day Sonnet', hours: 168 },
} as const satisfies Record<string, { name: string; hours: number }>

/** The common name of a vendor's window. */
export function windowName(window: string): string {
  return Object.hasOwn(WINDOWS, window) ? WINDOWS[window as keyof typeof WINDOWS].name : window.replaceAll('_', ' ')
}
