/** How a turn in a terminal ended, and who says so. */
export type Ends =
  /** As its hook told. */
  | { how: 'completed' | 'failed'; text: string }
  /** It became idle without a word of its own. */
  | { how: 'interrupted' | 'paused' | 'parked' | 'capped'; text: string }
  /** The same, and nobody here wanted it: somebody pressed Escape. */
  | { how: 'by-person'; text: string }

/** The message with which the vendor's library would have told it. */
export function resultOf(ends: Ends): Record<string, unknown> {
  return {
    ...{ type: 'result', subtype: 'success', is_error: ends.how === 'failed', result: ends.text },
    terminal_reason: REASONS[ends.how],
  }
}

const REASONS: Record<Ends['how'], string> = {
  completed: 'completed',
  failed: 'api_error',
  interrupted: 'aborted_tools',
  'by-person': 'aborted_tools',
  paused: 'hook_stopped',
  parked: 'hook_stopped',
  capped: 'max_turns',
}
