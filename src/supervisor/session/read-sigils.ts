import { quotedLines } from './quoted-lines.ts'

/** A message from an agent to its supervisor, inside its text. */
export type Sigil =
  /** The agent asks for its work to be verified. */
  | { kind: 'task-done'; task: string }
  | { kind: 'task-failed'; task: string; reason?: string }
  /** Everything that the agent was to work on is complete, or the agent gives up on all of it. */
  | { kind: 'promise'; promise: 'COMPLETE' }
  | { kind: 'promise'; promise: 'FAILURE'; reason?: string }
  | { kind: 'next-model'; model: string }
  | { kind: 'verify-pass' }
  | { kind: 'verify-fail'; reason: string }
  | { kind: 'journal'; notes: string }
  | { kind: 'knowledge'; title: string; tags: string[]; body: string }

/** A sigil that does not count. */
export interface IgnoredSigil {
  /** The line, cut short. */
  text: string
  /** The reason, without a full stop. */
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
  /** The sigils that count, in the order of the text. */
  sigils: Sigil[]
  /** Text that looks like a sigil and does not count, for the log. */
  ignored: IgnoredSigil[]
}

/** More sigils than an agent needs; later ones are not read, so that no text fills the log. */
const MOST = 50
const LONGEST_SHOWN = 200
/** No model writes that much in a turn. Reading it would take a second. */
const LONGEST = 1_000_000

/**
 * Reads the sigils in an agent's own words; never pass a tool's output or a file. A sigil counts when it begins its line and
 * nothing else stands on its lines. It never counts in a code fence, a quotation, an indented block, an element or a span of
 * code, nor when it names a task other than the agent's own, nor when it was said before. A sigil in the middle of a sentence
 * is a mention and is not even reported as ignored. Pure, and linear in the length of the text.
 */
export function readSigils(text: string, { task }: { task: string | undefined }): ReadSigils {
  if (!SIGIL.test(text)) return { sigils: [], ignored: [] }
  if (text.length > LONGEST)
    return { sigils: [], ignored: [{ text: shorten(text), why: 'its text is too long to be read' }] }
  const lines = text.split(/\r\n|\n|\r/)
  const quoted = quotedLines(lines, tag => (SIGIL_TAGS as readonly string[]).includes(tag))
  const result: ReadSigils = { sigils: [], ignored: [] }
  const seen = new Set<string>()
  const ignore = (at: number, why: string) => result.ignored.push({ text: shorten(lines[at] ?? ''), why })
  for (let at = 0; at < lines.length && result.sigils.length + result.ignored.length < MOST; at++) {
    const line = lines[at] ?? ''
    if (!LOOKS_LIKE_SIGIL.test(line)) continue
    const why = quoted[at] ?? (line.startsWith('<') ? undefined : 'it does not begin its line')
    if (why !== undefined) {
      ignore(at, why)
      continue
    }
    const sigilText = findSigilAt(lines, at, quoted)
    if ('why' in sigilText) {
      ignore(at, sigilText.why)
      continue
    }
    const sigil = parseSigil(sigilText, task)
    const problem = 'why' in sigil ? sigil.why : findProblem(sigil, { task, seen })
    if (problem !== undefined) ignore(at, problem)
    else if (!('why' in sigil)) result.sigils.push(sigil)
    at = sigilText.end
  }
  return result
}

const NAMES = SIGIL_TAGS.join('|')
const SIGIL = new RegExp(`<(?:${NAMES})[\\s/>]`)
const LOOKS_LIKE_SIGIL = new RegExp(`^[\\s>*+-]*(?:\\d+[.)]\\s+)?<(?:${NAMES})[\\s/>]`)
const OPENING = new RegExp(`^<(${NAMES})((?:\\s[^<>]*?)?)(/?)>(.*)$`, 's')

/** Sigils that may span several lines. */
const BLOCKS: ReadonlySet<SigilKind> = new Set(['verify-fail', 'journal', 'knowledge'])
/** The most lines of a block; longer text was never meant as one. */
const MOST_LINES = 200

/** The whole sigil that begins on a line, and the line on which it ends. */
function findSigilAt(
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

function findProblem(
  sigil: Sigil,
  { task, seen }: { task: string | undefined; seen: Set<string> },
): string | undefined {
  if ('task' in sigil && sigil.task !== task) return `it names ${sigil.task}, which is not the task at hand`
  const key = JSON.stringify(sigil)
  if (seen.has(key)) return 'it was said before'
  seen.add(key)
  return undefined
}

function shorten(line: string): string {
  const trimmed = line.trim()
  return trimmed.length > LONGEST_SHOWN ? `${trimmed.slice(0, LONGEST_SHOWN - 1).toWellFormed()}…` : trimmed
}

/** A sigil before it is parsed. */
interface SigilText {
  tag: SigilKind
  attributes: string
  body: string
}

/** Longer fields are cut: they are stored, shown and put into later prompts. */
const LONGEST_FIELD = { reason: 2_000, notes: 4_000, title: 200, tag: 50, body: 4_000 }
const MOST_TAGS = 20

const MODEL = /^[A-Za-z0-9][\w.:/@[\]-]{0,99}$/
const TASK = /^(t-[0-9a-f]{6,})(?:\s*:\s*(.+))?$/s

/** The meaning of a sigil, or why it has none. */
function parseSigil({ tag, attributes, body }: SigilText, own: string | undefined): Sigil | { why: string } {
  const content = body.trim()
  if (tag !== 'knowledge' && attributes.trim() !== '') return { why: 'it has attributes, and should have none' }
  if (tag === 'verify-pass') return content === '' ? { kind: tag } : { why: 'it should be empty' }
  if (content === '') return { why: 'it is empty' }
  switch (tag) {
    case 'task-done':
    case 'task-failed':
      return parseTaskSigil(tag, content, own)
    case 'promise':
      return parsePromise(content)
    case 'next-model':
      return MODEL.test(content) ? { kind: tag, model: content } : { why: 'it names no model' }
    case 'verify-fail':
      return { kind: tag, reason: cut(content, LONGEST_FIELD.reason) }
    case 'journal':
      return { kind: tag, notes: cut(content, LONGEST_FIELD.notes) }
    case 'knowledge':
      return parseKnowledge(attributes, content)
  }
}

/**
 * The id of the task, optionally with a colon and a reason. A failure without an id means the agent's own task, which would otherwise be
 * taken as done.
 */
function parseTaskSigil(
  kind: 'task-done' | 'task-failed',
  content: string,
  own: string | undefined,
): Sigil | { why: string } {
  const isOwnFailure = kind === 'task-failed' && own !== undefined && !/^t-[0-9a-f]/.test(content)
  const [, task, reason] = isOwnFailure ? [content, own, content] : (TASK.exec(content) ?? [])
  if (task === undefined) return { why: 'it names no task' }
  return kind === 'task-failed' && reason !== undefined
    ? { kind, task, reason: cut(reason, LONGEST_FIELD.reason) }
    : { kind, task }
}

function parsePromise(content: string): Sigil | { why: string } {
  if (content === 'COMPLETE') return { kind: 'promise', promise: 'COMPLETE' }
  const [, reason] = /^FAILURE(?:\s*:\s*(.+))?$/s.exec(content) ?? [undefined]
  if (!content.startsWith('FAILURE') || (content !== 'FAILURE' && reason === undefined)) {
    return { why: 'it is neither COMPLETE nor FAILURE' }
  }
  return {
    kind: 'promise',
    promise: 'FAILURE',
    ...(reason !== undefined && { reason: cut(reason, LONGEST_FIELD.reason) }),
  }
}

function parseKnowledge(attributes: string, body: string): Sigil | { why: string } {
  const values = new Map([...attributes.matchAll(/([a-z]+)\s*=\s*"([^"]*)"/g)].map(([, name, value]) => [name, value]))
  const title = values.get('title')?.trim()
  if (!title) return { why: 'it has no title' }
  const tags = (values.get('tags') ?? '')
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

/** Control characters except tabs and line ends, and marks that change the direction of text. */
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** Bounded: longer text was never meant as a sigil, and the search for its end would take long. */
const WHOLE_SIGIL = new RegExp(`^<(${NAMES})(?:\\s[^<>]{0,400})?(?:/>|>[\\s\\S]{0,5000}?</\\1>)[ \\t]*$`, 'gm')

/** An agent's text as a person reads it: without the sigils. */
export function stripSigils(text: string): string {
  return text
    .replace(WHOLE_SIGIL, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}
