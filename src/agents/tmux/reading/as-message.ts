import { SYNTHETIC } from '../../claude/messages/wire.ts'

/**
 * A line of Claude Code's record as the message that its library would have sent: the same parts under nearly the same names.
 * Undefined for what is no message of the conversation itself (notes, snapshots, what subagents say).
 */
export function asMessage(line: unknown): Record<string, unknown> | undefined {
  if (!isObject(line) || line['isSidechain'] === true || line['isMeta'] === true) return undefined
  if (line['type'] === 'assistant') return { ...line, api_error_params: line['apiErrorParams'] }
  if (line['type'] !== 'user') return undefined
  return { ...line, tool_use_result: line['toolUseResult'] }
}

/** What Claude Code itself wrote down, in the model's place, about a request that failed; undefined where the line tells of none. */
export function apiErrorIn(line: Record<string, unknown>): ApiError | undefined {
  const { message, isApiErrorMessage, apiErrorStatus, apiError, errorDetails } = line
  if (isApiErrorMessage !== true || !isObject(message) || message['model'] !== SYNTHETIC) return undefined
  const [first] = Array.isArray(message['content']) ? message['content'] : []
  return {
    text: isObject(first) ? String(first['text'] ?? '') : '',
    status: typeof apiErrorStatus === 'number' ? apiErrorStatus : undefined,
    code: typeof apiError === 'string' ? apiError : undefined,
    isTooLong: apiErrorStatus === 400 && /prompt is too long/i.test(String(errorDetails ?? '')),
  }
}

export interface ApiError {
  text: string
  status: number | undefined
  /** The vendor's own word for it. */
  code: string | undefined
  /** The conversation is longer than the model can take. */
  isTooLong: boolean
}

/** Whether the line says that the turn was cut short from the keyboard. */
export function tellsInterruption(line: Record<string, unknown>): boolean {
  if (line['type'] !== 'user' || !isObject(line['message'])) return false
  const { content } = line['message'] as { content?: unknown }
  const texts = Array.isArray(content) ? content.map(part => (isObject(part) ? part['text'] : undefined)) : [content]
  return texts.some(text => typeof text === 'string' && text.startsWith('[Request interrupted by user'))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
