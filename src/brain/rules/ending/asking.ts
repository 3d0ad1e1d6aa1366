import { folded } from '../grave/revealed.ts'
import { asksElsewhere } from './asking-elsewhere.ts'
import type { AskingKind } from './asking-kind.ts'
import { ASKS, ASKS_LAST, CHOOSES, POLITE, REPORTED, SAYS_IT_WAITS, WANTS_LEAVE } from './asking-phrases.ts'

/** What a sentence asks of its reader, if it does; `last` says that nothing but politeness comes behind it. */
export function asking(sentence: string, { last }: { last: boolean }): AskingKind | undefined {
  const text = folded(sentence)
  if (POLITE.test(text) || REPORTED.test(text)) return undefined
  if (SAYS_IT_WAITS.test(text)) return kindOf(text)
  if (!/[?？]\W*$/.test(text)) return last ? asksElsewhere(sentence) : undefined
  if (ASKS.test(text) || (last && ASKS_LAST.test(text))) return kindOf(text)
  return asksElsewhere(sentence)
}

/** A sentence of courtesy that asks for nothing and may stand behind a question. */
export function isPolite(sentence: string): boolean {
  return POLITE.test(folded(sentence))
}

/** Whether somebody says that they wait for an answer. */
export function saysItWaits(sentence: string): boolean {
  return SAYS_IT_WAITS.test(folded(sentence))
}

function kindOf(text: string): AskingKind {
  if (/^how\b/.test(text)) return 'other'
  if (CHOOSES.test(text)) return 'choice'
  return WANTS_LEAVE.test(text) ? 'proceed' : 'other'
}
