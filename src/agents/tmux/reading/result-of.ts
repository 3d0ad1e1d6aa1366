import type { ApiError } from './as-message.ts'

/** How a turn in a terminal ended, and who says so. */
export interface Ends {
  /**
   * `completed` and `failed` are told by a hook. The others are no hook's word: it became idle, because it was told to, or, `by-person`,
   * although nobody here wanted it: somebody pressed Escape.
   */
  how: 'completed' | 'failed' | 'interrupted' | 'paused' | 'parked' | 'capped' | 'by-person'
  text: string
}

/** The message with which the vendor's library would have told it. `error` is what the agent wrote down of it. */
export function resultOf({ how, text }: Ends, error: ApiError | undefined): Record<string, unknown> {
  const isFailed = how === 'failed'
  return {
    ...{ type: 'result', subtype: 'success', is_error: isFailed, result: isFailed ? (error?.text ?? '') : text },
    terminal_reason: isFailed && error?.isTooLong ? 'prompt_too_long' : REASONS[how],
    ...(isFailed && { api_error_status: error?.status, api_error: error?.code }),
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
