import { neutral } from '../../render/text.ts'

/** A name of a repository as it may stand in a comment: on one line, of a bearable length, and ending no comment. */
export function oneLine(text: string): string {
  const plain = neutral(text).replace(/\s+/g, ' ').replaceAll('-->', '—>')
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}
