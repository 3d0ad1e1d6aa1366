import { neutral } from '../../base/neutral.ts'

// Cheaper at start-up than an ESM import; hot commands load this file.
const { stripVTControlCharacters, styleText } = process.getBuiltinModule('node:util')

export type Tone = 'dim' | 'bold' | 'red' | 'green' | 'yellow' | 'cyan'

/** What the output can show. */
export interface Terminal {
  /** Columns; infinite when the output is not a terminal. */
  width: number
  color: boolean
  links: boolean
  /** Colours a text, or returns it unchanged when there are no colours. */
  paint(tone: Tone, text: string): string
  /** Makes a file name clickable where the terminal supports it. */
  link(path: string, text: string): string
}

export interface LineOptions {
  terminal: Terminal
  /** The project's directory, to which file links are relative. */
  project: string
  /** The session's agent, for events that do not begin with the creation of the session. */
  agent?: string
  /** Also shows requests, tool results and token counts. */
  verbose: boolean
  /** Shows all lines of a tool's output, not only the first ones. */
  whole?: boolean
  /** The reason of the end is shown elsewhere on the same page, so the end event is drawn without it. */
  reasonElsewhere?: boolean
  /** Parked asks are put to the reader, so the lines do not mention that nobody was there. */
  answeredHere?: boolean
  /** A person is asked at this terminal: an ask that is parked while it is open here stays on the screen. */
  attended?: boolean
}

/** The width of `[12:00:08] `; continuation lines are indented by it. */
export const INDENT = 11

interface Output {
  isTTY?: boolean
  columns?: number
}

/** Determines what a stream can show, by its kind and the environment (NO_COLOR, FORCE_COLOR). */
export function terminalOf(stream: Output, env: Record<string, string | undefined>): Terminal {
  const tty = stream.isTTY === true
  const color = wantsColor(tty, env)
  const links = tty && supportsLinks(env)
  return {
    // Read each time: a person may change the size of the window meanwhile.
    get width() {
      return tty ? Math.max(stream.columns || 80, 40) : Number.POSITIVE_INFINITY
    },
    color,
    links,
    paint: (tone, text) => (color && text ? styleText(tone, text, { validateStream: false }) : text),
    link: (path, text) => (links ? `\x1b]8;;file://${encodeURI(path)}\x1b\\${text}\x1b]8;;\x1b\\` : text),
  }
}

function wantsColor(tty: boolean, env: Record<string, string | undefined>): boolean {
  const forced = env['FORCE_COLOR']
  if (forced !== undefined) return forced !== '0' && forced !== 'false'
  if (env['NO_COLOR']) return false
  return tty && env['TERM'] !== 'dumb'
}

/** Only terminals that identify themselves and are known to support OSC 8; others might print the address as junk. */
function supportsLinks(env: Record<string, string | undefined>): boolean {
  if (env['FORCE_HYPERLINK'] !== undefined) return env['FORCE_HYPERLINK'] !== '0'
  if (env['TMUX'] || env['STY'] || env['CI']) return false
  if (
    Number(env['VTE_VERSION'] ?? 0) >= 5000 ||
    env['WT_SESSION'] ||
    env['KITTY_WINDOW_ID'] ||
    env['KONSOLE_VERSION']
  ) {
    return true
  }
  return ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper'].includes(env['TERM_PROGRAM'] ?? '')
}

/** Our own colours and links to files, and tabs. */
const OWN_CODES = /(\x1b\[(?:1|2|22|3[1236]|39)m|\x1b\]8;;(?:file:\/\/[\x21-\x7e]*)?\x1b\\|\t)/

/** A text for a terminal: all control characters in it but our own are drawn, whoever forgot that it has words of others in it. */
export function printable(text: string): string {
  if (!/[^\x20-\x7e\n]/.test(text)) return text
  return text
    .split(OWN_CODES)
    .map((part, at) => (at % 2 === 1 ? part : neutral(part)))
    .join('')
}

/** The first line of a text, safe to print; `…` marks that more lines follow. */
export function firstLine(text: string): string {
  const lines = neutral(text).trim().split('\n')
  return lines.length > 1 ? `${lines[0]} …` : (lines[0] ?? '')
}

/** The width of a text in columns: wide characters and emoji take two, combining marks and our own colours none. */
export function widthOf(text: string): number {
  if (SIMPLE.test(text)) return text.length
  let width = 0
  for (const grapheme of graphemes(stripVTControlCharacters(text))) width += graphemeWidth(grapheme)
  return width
}

/** Latin letters, punctuation, arrows, boxes and our glyphs: one column each. Grapheme segmentation costs 10 ms at first use. */
const SIMPLE =
  /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2400-\u2421\u2500-\u25ff\u23f8\u2713\u2717\u27e8\u27e9]*$/

/** Pads a text with spaces to a width. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Shortens plain text to a width; `…` marks the cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let taken = ''
  let used = 0
  for (const grapheme of graphemes(text)) {
    used += graphemeWidth(grapheme)
    if (used > width - 1) break
    taken += grapheme
  }
  return `${taken.trimEnd()}…`
}

/** Like `cut`, but between two words where the cut would otherwise lose less than a third of the text. */
export function cutAtWord(text: string, width: number): string {
  const short = cut(text, width)
  if (short === text) return text
  const end = short.search(/\s+\S*…$/)
  return end > (short.length * 2) / 3 ? `${short.slice(0, end).replace(/[\s,;:.–-]+$/, '')} …` : short
}

/** Breaks plain text into lines of at most a width, at spaces where possible; existing line breaks are kept. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => wrapLine(line, Math.max(width, 8)))
}

/** A command at the end of a line. */
const COMMAND = /^(.*?:) ((?:git|pcc|npm|npx|node|export|sudo|systemctl|loginctl|cd|mkdir|chmod|docker) .+)$/

/**
 * Breaks what is wider than the terminal between two words. A word that is too wide stays whole, so that it can be copied, and so does a
 * command at the end of a line: with a line break in it, its first half would run by itself.
 */
export function breakLines(text: string, width: number): string {
  if (width === Number.POSITIVE_INFINITY) return text
  return text
    .split('\n')
    .flatMap(line => {
      const [, before, command] = (widthOf(line) > width && COMMAND.exec(line)) || []
      if (before === undefined || command === undefined) return wrapLine(line, width, word => [word])
      const indent = /^ */.exec(before)?.[0] ?? ''
      return [...wrapLine(before, width, word => [word]), `${indent}${command}`]
    })
    .join('\n')
}

function wrapLine(line: string, width: number, split: typeof breakWord = breakWord): string[] {
  if (widthOf(line) <= width) return [line]
  // A colour may begin before the spaces.
  const lead = /^(?:\s|\x1b\[\d*m)*/.exec(line)?.[0] ?? ''
  const indent = stripVTControlCharacters(lead)
  const hanging = indent.length < width / 2 ? indent : ''
  const lines: string[] = []
  let current = lead
  let used = indent.length
  for (const word of line.slice(lead.length).split(/(?<= )/)) {
    const size = widthOf(word.trimEnd())
    // A line does not begin with the space between two words.
    if (size === 0 && lines.length > 0 && !hasText(current)) continue
    if (used + size > width && hasText(current)) {
      lines.push(current.trimEnd())
      current = hanging
      used = hanging.length
    }
    for (const piece of used + size > width ? split(word, width - hanging.length) : [word]) {
      if (used + widthOf(piece.trimEnd()) > width) {
        // A line that has only its indent is dropped.
        if (hasText(current)) lines.push(current)
        current = hanging
        used = hanging.length
      }
      current += piece
      used += widthOf(piece)
    }
  }
  return [...lines, current.trimEnd()]
}

function hasText(line: string): boolean {
  return stripVTControlCharacters(line).trim() !== ''
}

function breakWord(word: string, width: number): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const grapheme of graphemes(word)) {
    if (piece && widthOf(piece) + graphemeWidth(grapheme) > width) {
      pieces.push(piece)
      piece = ''
    }
    piece += grapheme
  }
  return piece ? [...pieces, piece] : pieces
}

function graphemes(text: string): Iterable<string> {
  if (SIMPLE.test(text)) return text
  return Array.from(new Intl.Segmenter().segment(text), part => part.segment)
}

/** East Asian wide and fullwidth blocks; emoji are recognised by their Unicode property. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u

function graphemeWidth(grapheme: string): number {
  if (/^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u.test(grapheme)) return 0
  return WIDE.test(grapheme) || /^\p{Emoji_Presentation}|\ufe0f/u.test(grapheme) ? 2 : 1
}
