import { quotedLines } from './quoted-lines.ts'
import { type IgnoredSigil, SIGIL_TAGS, type Sigil, type SigilKind } from './sigil.ts'
import { sigilFrom, type Written } from './sigil-from.ts'

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
    const sigil = sigilFrom(written)
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
): (Written & { end: number }) | { why: string } {
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
