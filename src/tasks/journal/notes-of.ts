import { redactText } from '../../base/redact.ts'

/** A paragraph or three: it is read by people and put into prompts. */
const LONGEST = 2_000

/** What an attempt leaves in words: what its agent wrote down for the journal, or else its last words. */
export function notesOf({ journal, lastWords }: { journal: readonly string[]; lastWords: string }): string | null {
  const own = journal.map(each => each.trim()).filter(each => each !== '')
  const text = redactText(own.length > 0 ? [...new Set(own)].join('\n\n') : lastWords.trim())
  if (text === '') return null
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1).toWellFormed()}…` : text
}
