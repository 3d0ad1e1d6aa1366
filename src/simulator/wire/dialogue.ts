/** The conversation so far, flat and in order. `reply` is one answer of the model, `note` what the harness slipped in. */
export type Entry =
  | { kind: 'prompt'; text: string }
  | { kind: 'tool_result'; text: string; failed: boolean }
  | { kind: 'reply'; text: string }
  | { kind: 'note'; text: string }

/** What a request of any vendor tells of the conversation that it belongs to. */
export interface Dialogue {
  entries: Entry[]
  system: string
  model: string
  tools: string[]
  cwd: string
}

/** The first thing the person said: what a conversation is known by. */
export function firstPrompt(dialogue: Dialogue): string {
  return dialogue.entries.find(entry => entry.kind === 'prompt')?.text ?? ''
}
