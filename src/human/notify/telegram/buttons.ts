import type { Decision } from '../notice.ts'

/** What a press says. */
export type Press = { number: number; mark: string } & ({ verdict: 'allow' | 'deny' } | { option: number })

interface Button {
  text: string
  callback_data: string
}

/** Telegram shows long words cut; data may have 64 bytes. */
const LONGEST_LABEL = 40

/** The buttons under a message: one for each option, or yes and no. */
export function buttonsFor({ number, mark, kind, options, parts }: Decision): Button[][] {
  const button = (text: string, what: string): Button => ({
    text: text.length > LONGEST_LABEL ? `${text.slice(0, LONGEST_LABEL - 1).toWellFormed()}…` : text,
    callback_data: `${number}:${mark}:${what}`,
  })
  if (kind !== 'question') {
    const [yes, no] = kind === 'error' ? ['Try again', 'Leave it'] : ['Approve', 'Deny']
    return [[button(yes ?? '', 'allow'), button(no ?? '', 'deny')]]
  }
  const choices =
    parts === 1 ? options.map((label, index) => [button(`${index + 1}. ${label}`, String(index + 1))]) : []
  return [...choices, [button('Do not answer', 'deny')]]
}

/** Reads the data of a button; nothing where it is none of ours. */
export function readPress(data: string | undefined): Press | undefined {
  const [, number, mark, what] = /^(\d{1,9}):([0-9a-f]{12}):(allow|deny|\d{1,2})$/.exec(data ?? '') ?? []
  if (number === undefined || mark === undefined || what === undefined) return undefined
  const of = { number: Number(number), mark }
  return what === 'allow' || what === 'deny' ? { ...of, verdict: what } : { ...of, option: Number(what) }
}
