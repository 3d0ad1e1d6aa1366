import type { QuestionItem } from '../../domain/session.ts'

/** The keys that answer a permission. */
export const PERMISSION_KEYS = '[y] allow once  [n] deny  [t] deny and say why  > '

/** Asked after `t`. */
export const REASON_PROMPT = 'Why not? > '

/** The keys that answer a question. */
export function questionKeys({ options, multiSelect }: QuestionItem): string {
  if (options.length === 0) return '[Enter] Send  > '
  const range = options.length === 1 ? '[1]' : `[1-${options.length}]`
  if (options.length > 9) return `${range} Select, or type an answer  [Enter] Send  > `
  return multiSelect ? `${range} Toggle  [Enter] Done  [T]ype custom  > ` : `${range} Select  [T]ype custom  > `
}
