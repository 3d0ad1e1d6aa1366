import * as z from 'zod'

/**
 * The way of a feature: `interview → spec → plan → tasks → ready`. A phase is what is being done, or what comes next where nobody is at
 * it. With an interview the spec is its last word; without one (`--from`) the spec is written from a file.
 */
export const FeaturePhase = z.enum(['interview', 'spec', 'plan', 'tasks', 'ready'])
export type FeaturePhase = z.infer<typeof FeaturePhase>

/** What a feature has on disk. */
export const DOCUMENTS = ['spec', 'plan'] as const
export type DocumentKind = (typeof DOCUMENTS)[number]

/** Characters of a spec or a plan: more than a person would read, and room enough in every model's window. */
export const MAX_DOCUMENT = 200_000

/** The document in an agent's last words: what stands between its marks, else the whole of a text with headings. */
export function documentIn(text: string, kind: DocumentKind): string | undefined {
  const marked = new RegExp(`^[ \\t]*<${kind}>[ \\t]*\\n([\\s\\S]*?)\\n[ \\t]*</${kind}>[ \\t]*$`, 'm').exec(text)?.[1]
  const found = (marked ?? (/^#{1,3} \S/m.test(text) ? text : '')).trim()
  return found === '' ? undefined : `${found}\n`
}

/** Whether a text ends with a document: what is asked in it is for whoever reads that, and not a question of this turn. */
export function endsWithDocument(text: string): boolean {
  return /<\/(spec|plan)>\s*$/.test(text)
}
