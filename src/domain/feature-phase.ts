import * as z from 'zod'

/** The documents of a feature on disk, in the order in which they are written. */
export const DOCUMENTS = ['spec', 'plan'] as const
export type DocumentKind = (typeof DOCUMENTS)[number]

/**
 * The phases of a feature in which an agent works, in order, each with the document that its session ends with. An interview
 * ends with the spec; without one (`--from`), or if its agent wrote none, the spec is written from what the person has said.
 */
const WORK = [
  { phase: 'interview', writes: 'spec' },
  { phase: 'spec', writes: 'spec' },
  { phase: 'plan', writes: 'plan' },
  { phase: 'tasks' },
] as const satisfies readonly { phase: string; writes?: DocumentKind }[]

/** A phase in which an agent works. */
export type WorkPhase = (typeof WORK)[number]['phase']
const PHASES: readonly { phase: WorkPhase; writes?: DocumentKind }[] = WORK
const WORK_PHASES = WORK.map(({ phase }) => phase)

/** The phase is the current step, or the next one if nobody works on it. */
export const FeaturePhase = z.enum([...WORK_PHASES, 'ready'])
export type FeaturePhase = z.infer<typeof FeaturePhase>

/** How far a feature proceeds by itself; then a person may read and edit what was written. An interview goes on to its spec. */
export const FeatureUntil = z.enum(WORK_PHASES.filter(phase => phase !== 'interview'))
export type FeatureUntil = z.infer<typeof FeatureUntil>

function orderOf(phase: FeaturePhase): number {
  return FeaturePhase.options.indexOf(phase)
}

/** Whether a phase comes after another one. */
export function isLaterPhase(phase: FeaturePhase, than: FeaturePhase): boolean {
  return orderOf(phase) > orderOf(than)
}

/** The document that a phase ends with; undefined if it ends with none. */
export function documentOf(phase: FeaturePhase): DocumentKind | undefined {
  return PHASES.find(work => work.phase === phase)?.writes
}

/** The documents that are finished before a phase begins. */
export function documentsBefore(phase: FeaturePhase): DocumentKind[] {
  return DOCUMENTS.filter(kind => !isLaterPhase(phaseAfterDocument(kind), phase))
}

export function phaseAfter(phase: WorkPhase): FeaturePhase {
  return FeaturePhase.options[orderOf(phase) + 1] ?? 'ready'
}

/** The first phase that needs the finished document. */
export function phaseAfterDocument(kind: DocumentKind): FeaturePhase {
  const last = PHASES.findLast(({ writes }) => writes === kind)
  return last ? phaseAfter(last.phase) : 'ready'
}

/** The document after which it stops next, so that a person can read it; after the last document, the tasks. */
export function nextStop(phase: FeaturePhase): FeatureUntil {
  const kind = documentOf(phase)
  const end = PHASES.findLast(work => (kind === undefined ? work.phase === phase : work.writes === kind))?.phase
  return FeatureUntil.options.find(stop => stop === end) ?? 'tasks'
}

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
  return DOCUMENTS.some(kind => text.trimEnd().endsWith(`</${kind}>`))
}
