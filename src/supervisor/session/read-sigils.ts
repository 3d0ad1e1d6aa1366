import { quotedLines } from './quoted-lines.ts'

/** What an agent says to its supervisor in its text. */
export type Sigil =
  /** It asks for its work to be verified. */
  | { kind: 'task-done'; task: string }
  | { kind: 'task-failed'; task: string; reason?: string }
  /** The whole of what it was to work on is complete, or beyond it. */
  | { kind: 'promise'; promise: 'COMPLETE' }
  | { kind: 'promise'; promise: 'FAILURE'; reason?: string }
  | { kind: 'next-model'; model: string }
  | { kind: 'verify-pass' }
  | { kind: 'verify-fail'; reason: string }
  | { kind: 'journal'; notes: string }
  | { kind: 'knowledge'; title: string; tags: string[]; body: string }

/** One that was seen and does not count. */
export interface IgnoredSigil {
  /** The line as it stands, cut short. */
  text: string
  /** Ends no sentence. */
  why: string
}

type SigilKind = Sigil['kind']

const SIGIL_TAGS: readonly SigilKind[] = [
  'task-done',
  'task-failed',
  'promise',
  'next-model',
  'verify-pass',
  'verify-fail',
  'journal',
  'knowledge',
]

export interface ReadSigils {
  /** What counts, in the order in which it was said. */
  sigils: Sigil[]
  /** What looks like one and does not count, for the log. */
  ignored: IgnoredSigil[]
}

/** More than an agent has to say; what follows is not looked at, so that no text fills the log. */
const MOST = 50
const LONGEST_SHOWN = 200
/** No model says as much in a turn. Reading it would take a second. */
const LONGEST = 1_000_000

/**
 * The sigils in an agent's own words: never give it a tool's output or a file. One counts when it begins at the beginning of
 * its line and nothing stands on its lines beside it; never in a code fence, a quotation, an indented block, an element or a
 * span of code; not when it names another task than the agent's own, and not when it was said before. One in the middle of a
 * sentence is a mention and not even ignored. Pure, and linear in the length of the text.
 */
export function readSigils(text: string, { task }: { task: string | undefined }): ReadSigils {
  if (!SIGIL.test(text)) return { sigils: [], ignored: [] }
  if (text.length > LONGEST)
    return { sigils: [], ignored: [{ text: shown(text), why: 'its text is too long to be read' }] }
  const lines = text.split(/\r\n|\n|\r/)
  const quoted = quotedLines(lines, tag => (SIGIL_TAGS as readonly string[]).includes(tag))
  const found: ReadSigils = { sigils: [], ignored: [] }
  const said = new Set<string>()
  const ignore = (at: number, why: string) => found.ignored.push({ text: shown(lines[at] ?? ''), why })
  for (let at = 0; at < lines.length && found.sigils.length + found.ignored.length < MOST; at++) {
    const line = lines[at] ?? ''
    if (!LOOKS_LIKE_ONE.test(line)) continue
    const why = quoted[at] ?? (line.startsWith('<') ? undefined : 'it does not begin its line')
    if (why !== undefined) {
      ignore(at, why)
      continue
    }
    const written = writtenAt(lines, at, quoted)
    if ('why' in written) {
      ignore(at, written.why)
      continue
    }
    const sigil = parseSigil(written)
    const problem = 'why' in sigil ? sigil.why : wrong(sigil, { task, said })
    if (problem !== undefined) ignore(at, problem)
    else if (!('why' in sigil)) found.sigils.push(sigil)
    at = written.end
  }
  return found
}

const NAMES = SIGIL_TAGS.join('|')
const SIGIL = new RegExp(`<(?:${NAMES})[\\s/>]`)
const LOOKS_LIKE_ONE = new RegExp(`^[\\s>*+-]*(?:\\d+[.)]\\s+)?<(?:${NAMES})[\\s/>]`)
const OPENING = new RegExp(`^<(${NAMES})((?:\\s[^<>]*?)?)(/?)>(.*)$`, 's')

/** What may go over several lines. */
const BLOCKS: ReadonlySet<SigilKind> = new Set(['verify-fail', 'journal', 'knowledge'])
/** Where a block's end is looked for; one that is longer was never meant as one. */
const MOST_LINES = 200

/** The whole of a sigil that begins on a line, and the line on which it ends. */
function writtenAt(
  lines: readonly string[],
  at: number,
  quoted: readonly (string | undefined)[],
): (SigilText & { end: number }) | { why: string } {
  const [, name = '', attributes = '', empty, rest = ''] = OPENING.exec((lines[at] ?? '').trimEnd()) ?? []
  const tag = name as SigilKind
  if (name === '') return { why: 'its tag is not complete' }
  if (empty === '/')
    return rest === '' ? { tag, attributes, body: '', end: at } : { why: 'it is not alone on its line' }
  const closing = `</${name}>`
  const last = BLOCKS.has(tag) ? Math.min(lines.length, at + MOST_LINES) : at + 1
  for (let end = at; end < last; end++) {
    const line = end === at ? rest : (lines[end] ?? '').trimEnd()
    const closed = line.indexOf(closing)
    if (closed < 0 || (end > at && quoted[end] !== undefined)) continue
    if (closed + closing.length !== line.length) return { why: 'it is not alone on its line' }
    const inner = end === at ? [] : [rest, ...lines.slice(at + 1, end)]
    return { tag, attributes, body: [...inner, line.slice(0, closed)].join('\n'), end }
  }
  return { why: 'it is not closed' }
}

function wrong(sigil: Sigil, { task, said }: { task: string | undefined; said: Set<string> }): string | undefined {
  if ('task' in sigil && sigil.task !== task) return `it names ${sigil.task}, which is not the task at hand`
  const words = JSON.stringify(sigil)
  if (said.has(words)) return 'it was said before'
  said.add(words)
  return undefined
}

function shown(line: string): string {
  const trimmed = line.trim()
  return trimmed.length > LONGEST_SHOWN ? `${trimmed.slice(0, LONGEST_SHOWN - 1).toWellFormed()}…` : trimmed
}

/** A sigil as it was written. */
interface SigilText {
  tag: SigilKind
  attributes: string
  body: string
}

/** Longer ones are cut: what an agent says is stored, shown and put into later prompts. */
const LONGEST_FIELD = { reason: 2_000, notes: 4_000, title: 200, tag: 50, body: 4_000 }
const MOST_TAGS = 20

const MODEL = /^[A-Za-z0-9][\w.:/@[\]-]{0,99}$/
const TASK = /^(t-[0-9a-f]{6,})(?:\s*:\s*(.+))?$/s

/** What a written sigil says, or why it says nothing. */
function parseSigil({ tag, attributes, body }: SigilText): Sigil | { why: string } {
  const said = body.trim()
  if (tag !== 'knowledge' && attributes.trim() !== '') return { why: 'it has attributes, and should have none' }
  if (tag === 'verify-pass') return said === '' ? { kind: tag } : { why: 'it should be empty' }
  if (said === '') return { why: 'it is empty' }
  switch (tag) {
    case 'task-done':
    case 'task-failed':
      return aboutTask(tag, said)
    case 'promise':
      return promise(said)
    case 'next-model':
      return MODEL.test(said) ? { kind: tag, model: said } : { why: 'it names no model' }
    case 'verify-fail':
      return { kind: tag, reason: cut(said, LONGEST_FIELD.reason) }
    case 'journal':
      return { kind: tag, notes: cut(said, LONGEST_FIELD.notes) }
    case 'knowledge':
      return knowledge(attributes, said)
  }
}

/** The id alone, or with a reason behind a colon. */
function aboutTask(kind: 'task-done' | 'task-failed', said: string): Sigil | { why: string } {
  const [, task, reason] = TASK.exec(said) ?? []
  if (task === undefined) return { why: 'it names no task' }
  return kind === 'task-failed' && reason !== undefined
    ? { kind, task, reason: cut(reason, LONGEST_FIELD.reason) }
    : { kind, task }
}

function promise(said: string): Sigil | { why: string } {
  if (said === 'COMPLETE') return { kind: 'promise', promise: 'COMPLETE' }
  const [, reason] = /^FAILURE(?:\s*:\s*(.+))?$/s.exec(said) ?? [undefined]
  if (!said.startsWith('FAILURE') || (said !== 'FAILURE' && reason === undefined)) {
    return { why: 'it is neither COMPLETE nor FAILURE' }
  }
  return {
    kind: 'promise',
    promise: 'FAILURE',
    ...(reason !== undefined && { reason: cut(reason, LONGEST_FIELD.reason) }),
  }
}

function knowledge(attributes: string, body: string): Sigil | { why: string } {
  const given = new Map([...attributes.matchAll(/([a-z]+)\s*=\s*"([^"]*)"/g)].map(([, name, value]) => [name, value]))
  const title = given.get('title')?.trim()
  if (!title) return { why: 'it has no title' }
  const tags = (given.get('tags') ?? '')
    .split(',')
    .map(tag => cut(tag.trim(), LONGEST_FIELD.tag))
    .filter(tag => tag !== '')
  return {
    kind: 'knowledge',
    title: cut(title, LONGEST_FIELD.title),
    tags: [...new Set(tags)].slice(0, MOST_TAGS),
    body: cut(body, LONGEST_FIELD.body),
  }
}

function cut(text: string, longest: number): string {
  const clean = text.replace(UNSEEN, '').toWellFormed().trim()
  return clean.length > longest ? `${clean.slice(0, longest - 1).toWellFormed()}…` : clean
}

/** Control characters but for tabs and ends of lines, and marks that turn the direction of text. */
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** Bounded: what is longer was never meant as one, and a search for its end would take long. */
const WHOLE_SIGIL = new RegExp(`^<(${NAMES})(?:\\s[^<>]{0,400})?(?:/>|>[\\s\\S]{0,5000}?</\\1>)[ \\t]*$`, 'gm')

/** An agent's words as a person reads them: without what it says to its supervisor. */
export function stripSigils(text: string): string {
  return text
    .replace(WHOLE_SIGIL, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
