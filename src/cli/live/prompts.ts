import type { OpenAsk } from '../../domain/api.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { nameOfAsk } from '../render/lines/ask-lines.ts'
import { cut } from '../render/text.ts'

const PERMISSION_KEYS = '[y] allow once  [n] deny  [t] deny and say why  > '
/** A name cut shorter than this says nothing. */
const SHORTEST_NAME = 12

/** What a permission is for and the keys that answer it, in so many columns. */
export function permissionPrompt(ask: OpenAsk, width: number): string {
  const room = Math.max(SHORTEST_NAME, width - PERMISSION_KEYS.length - 2)
  return `${cut(nameOfAsk(ask), room)}  ${PERMISSION_KEYS}`
}

/** Asked after `t`. */
export const REASON_PROMPT = 'Why not? > '

/** The keys that answer a question. */
export function questionKeys({ options, multiSelect }: QuestionItem): string {
  if (options.length === 0) return '[Enter] Send  > '
  const range = options.length === 1 ? '[1]' : `[1-${options.length}]`
  if (options.length > 9) return `${range} Select, or type an answer  [Enter] Send  > `
  return multiSelect ? `${range} Toggle  [Enter] Done  [T]ype custom  > ` : `${range} Select  [T]ype custom  > `
}
