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

/** The document in an agent's last message: the text between its tags, or else the whole message if it has headings. */
export function documentIn(text: string, kind: DocumentKind): string | undefined {
  const marked = new RegExp(`^[ \\t]*<${kind}>[ \\t]*\\n([\\s\\S]*?)\\n[ \\t]*</${kind}>[ \\t]*$`, 'm').exec(text)?.[1]
  const document = (marked ?? (/^#{1,3} \S/m.test(text) ? text : '')).trim()
  return document === '' ? undefined : `${document}\n`
}

/** Whether a text ends with a document. Questions inside a document are for its readers, not for this turn. */
export function endsWithDocument(text: string): boolean {
  return /<\/(spec|plan)>\s*$/.test(text)
}
