import { createHash } from 'node:crypto'

const WORDS = 'As long as nothing else is changed here, pcc init keeps this file up to date; after that it is yours.'
const LINE = /^(?:# |<!-- )pcc init ([0-9a-f]{16})\. .*(?:\n|$)/m

/** The text with a last line by which it is known later whether somebody has changed it. */
export function stamped(text: string, form: 'toml' | 'markdown'): string {
  const words = `pcc init ${markOf(text)}. ${WORDS}`
  return `${text}${form === 'toml' ? `# ${words}` : `<!-- ${words} -->`}\n`
}

/** Whether a text is exactly what some `pcc init` wrote, also where git has changed its line endings. */
export function isUntouched(text: string): boolean {
  const plain = text.replaceAll('\r\n', '\n')
  const line = LINE.exec(plain)
  return line !== null && markOf(plain.replace(line[0], '')) === line[1]
}

function markOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
