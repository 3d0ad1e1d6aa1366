import type { OpenAsk } from '../../domain/api.ts'
import type { QuestionItem } from '../../domain/session.ts'
import { nameOfAsk } from '../render/lines/ask-lines.ts'
import { cut } from '../render/text.ts'

/** An answer to a MEDIUM call counts for the same one later, too; that to another is for this call alone. */
const permissionKeys = (ask: OpenAsk) => {
  const once = ask.kind === 'permission' && ask.risk === 'MEDIUM' ? '' : ' once'
  return `[y] allow${once}  [n] deny  [t] deny and say why  > `
}
/** A name cut shorter than this says nothing. */
const SHORTEST_NAME = 12

/** What a permission is for and the keys that answer it, in so many columns. */
export function permissionPrompt(ask: OpenAsk, width: number): string {
  const keys = permissionKeys(ask)
  const room = Math.max(SHORTEST_NAME, width - keys.length - 2)
  return `${cut(nameOfAsk(ask), room)}  ${keys}`
}

/** Asked after `t`. */
export const REASON_PROMPT = 'Why not? > '

/** Options beyond this have no key of their own: their number is typed. */
const KEYED_OPTIONS = 9

/** Whether one key answers a question. Otherwise a line is typed. */
export function hasOptionKeys({ options }: QuestionItem): boolean {
  return options.length > 0 && options.length <= KEYED_OPTIONS
}

/** The keys that answer a question; with a suggestion, also the one that takes it. */
export function questionKeys(item: QuestionItem, suggested = false): string {
  const { options, multiSelect } = item
  const range = options.length === 1 ? '[1]' : `[1-${options.length}]`
  const accept = suggested ? '[A]ccept brain  ' : ''
  if (hasOptionKeys(item)) {
    return `${accept}${multiSelect ? `${range} Toggle  [Enter] Done` : `${range} Select`}  [T]ype custom  > `
  }
  if (suggested) return `${accept}[T]ype ${options.length > 0 ? `${range} or ` : ''}custom  > `
  return options.length > 0 ? `${range} Select, or type an answer  [Enter] Send  > ` : '[Enter] Send  > '
}
