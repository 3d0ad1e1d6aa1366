import * as z from 'zod'

/**
 * The phases of a feature: `interview → spec → plan → tasks → ready`. The phase is the current step, or the next one if
 * nobody works on it. An interview ends with the spec; without one (`--from`), the spec is written from a file.
 */
export const FeaturePhase = z.enum(['interview', 'spec', 'plan', 'tasks', 'ready'])
export type FeaturePhase = z.infer<typeof FeaturePhase>

/** The documents of a feature on disk. */
export const DOCUMENTS = ['spec', 'plan'] as const
export type DocumentKind = (typeof DOCUMENTS)[number]

/** Maximum characters of a spec or a plan: more than a person would read, and it fits into every model's context window. */
export const MAX_DOCUMENT = 200_000
/** A message with more is no document and some words around it. */
const MAX_MESSAGE = 2 * MAX_DOCUMENT

/**
 * The document in an agent's last message: the text between its tags, or else from its heading on, if it begins with one, at most a
 * line that announces it before. Headings without words below them are none.
 */
export function documentIn(text: string, kind: DocumentKind): string | undefined {
  if (text.length > MAX_MESSAGE) return undefined
  const marked = new RegExp(`^[ \\t]*<${kind}>[ \\t]*\\n([\\s\\S]*?)\\n[ \\t]*</${kind}>[ \\t]*$`, 'm').exec(text)?.[1]
  const document = (marked ?? /^(?:.*:[^\S\n]*\n\s*)?(#{1,3} \S[\s\S]*)$/.exec(text.trimStart())?.[1] ?? '').trim()
  return saysSomething(document) ? `${document}\n` : undefined
}

/** A line without words, or with those that stand for what is not written yet. */
const UNWRITTEN = /^[^\p{L}\p{N}]*(?:(?:todo|tbd|to be (?:done|written|defined))[^\p{L}\p{N}]*)?$/iu

/** Whether a document has a line of its own beside headings, comments and placeholders. */
function saysSomething(document: string): boolean {
  const [first = '', ...comments] = document.split('<!--')
  const plain =
    first + comments.map(part => (part.includes('-->') ? part.slice(part.indexOf('-->') + 3) : part)).join('')
  const lines = plain.split('\n')
  return lines.some(line => !/^\s*#/.test(line) && !UNWRITTEN.test(line))
}

/** Whether a text ends with a document. Questions inside a document are for its readers, not for this turn. */
export function endsWithDocument(text: string): boolean {
  return /<\/(spec|plan)>\s*$/.test(text)
}
