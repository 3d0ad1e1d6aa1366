import type { Log } from '../../base/log.ts'
import { heedSigils } from './heed-sigils.ts'
import { readSigils } from './read-sigils.ts'

export interface TurnOver {
  /** The agent's own last words. */
  text: string
  task: string | null
  /** How many other tasks are open of what it works on. */
  open: number
  log: Log
}

/** Why the agent says, at the end of its turn, that its task has failed; undefined where it does not. What does not count is logged. */
export function givenUp({ text, task, open, log }: TurnOver): string | undefined {
  const read = readSigils(text, { task: task ?? undefined })
  const { claim, reason, ignored } = heedSigils(read, { open })
  for (const { text: line, why } of ignored) log.info({ sigil: line, why }, 'a sigil does not count')
  return claim === 'failed' ? (reason ?? lastWords(text)) : undefined
}

const LONGEST = 500

/** What stands before the sigil, where that gives no reason itself. */
function lastWords(text: string): string {
  const paragraphs = text
    .split(/\n\s*\n/)
    .map(each => each.replace(/^<[a-z-]+>.*<\/[a-z-]+>\s*$/gm, '').trim())
    .filter(each => each !== '')
  const last = (paragraphs.at(-1) ?? '').replace(/\s+/g, ' ')
  if (last === '') return 'the agent says that it failed, without a reason'
  return last.length > LONGEST ? `${last.slice(0, LONGEST - 1).toWellFormed()}…` : last
}
