/** What an agent says to its supervisor in its text. */
export type Sigil =
  /** It asks for its work to be verified. */
  | { kind: 'task-done'; task: string }
  | { kind: 'task-failed'; task: string; reason?: string }
  /** The whole of what it was to work on is complete, or beyond it. */
  | { kind: 'promise'; promise: 'COMPLETE' }
  | { kind: 'promise'; promise: 'FAILURE'; reason?: string }
  | { kind: 'next-model'; model: string }
  | { kind: 'verify-pass' }
  | { kind: 'verify-fail'; reason: string }
  | { kind: 'journal'; notes: string }
  | { kind: 'knowledge'; title: string; tags: string[]; body: string }

/** One that was seen and does not count. */
export interface IgnoredSigil {
  /** The line as it stands, cut short. */
  text: string
  /** Ends no sentence. */
  why: string
}

export type SigilKind = Sigil['kind']

export const SIGIL_TAGS: readonly SigilKind[] = [
  'task-done',
  'task-failed',
  'promise',
  'next-model',
  'verify-pass',
  'verify-fail',
  'journal',
  'knowledge',
]
