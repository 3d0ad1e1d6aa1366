// Cheaper at start-up than an ESM import, and hot commands come by here.
const { styleText } = process.getBuiltinModule('node:util')

export type Tone = 'dim' | 'bold' | 'red' | 'green' | 'yellow' | 'cyan'

/** How text leaves us: what the other end can show. */
export interface Terminal {
  /** Columns; unlimited when nobody looks at it. */
  width: number
  color: boolean
  links: boolean
  /** Colours a text, or leaves it alone. */
  paint(tone: Tone, text: string): string
  /** Makes a file name clickable where that is understood. */
  link(path: string, text: string): string
}

export interface LineOptions {
  terminal: Terminal
  /** The project, so that file names can be opened. */
  project: string
  /** The session's agent, where the events that are drawn do not begin with its own. */
  agent?: string
  /** Also thoughts, results and numbers. */
  verbose: boolean
  /** All lines of what a tool said, not only the first. */
  whole?: boolean
  /** The session's status stands elsewhere on the same page: its end is then told without the reason, which is said once. */
  reasonElsewhere?: boolean
  /** What is parked is put to the person who reads this: that nobody was there is no news to them. */
  answeredHere?: boolean
  /** Somebody reads this who is asked here: what was put to them and is parked stays before them. */
  attended?: boolean
}

/** Columns of `[12:00:08] `: what follows on the next lines stands under the text. */
export const INDENT = 11

interface Output {
  isTTY?: boolean
  columns?: number
}

/** What a stream can show, by what it is and what the person's environment asks for (NO_COLOR, FORCE_COLOR). */
export function terminalOf(stream: Output, env: Record<string, string | undefined>): Terminal {
  const tty = stream.isTTY === true
  const color = wantsColor(tty, env)
  const links = tty && knowsLinks(env)
  return {
    width: tty ? Math.max(stream.columns || 80, 40) : Number.POSITIVE_INFINITY,
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

/** Terminals that announce themselves and are known to understand OSC 8; others might print the address as junk. */
function knowsLinks(env: Record<string, string | undefined>): boolean {
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

// Cheaper at start-up than an ESM import, and hot commands come by here.
const { stripVTControlCharacters } = process.getBuiltinModule('node:util')

/**
 * Makes text of an agent, a tool or a file harmless on a terminal: escape sequences are dropped, what is left of control
 * and direction-changing characters becomes visible, so that nothing can move the cursor or disguise a command.
 */
export function neutral(text: string): string {
  if (!/[^\x20-\x7e\n]/.test(text)) return text
  return stripVTControlCharacters(text.replace(/\r\n?|[\u2028\u2029]/g, '\n'))
    .toWellFormed()
    .replace(/\t/g, '  ')
    .replace(/[\x00-\x08\x0b-\x1f]/g, char => String.fromCharCode(0x2400 + char.charCodeAt(0)))
    .replace(UNSEEN, '\ufffd')
}

/**
 * What turns the direction of text or takes no room: two commands that differ must not look alike. Joiners stay inside of
 * emoji and scripts that need them, not beside plain letters.
 */
const UNSEEN =
  /[\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]|(?<=[\x20-\x7e])[\u200c\u200d]|[\u200c\u200d](?=[\x20-\x7e])/gu

/** The first line of a text, harmless; a cut is shown. */
export function firstLine(text: string): string {
  const lines = neutral(text).trim().split('\n')
  return lines.length > 1 ? `${lines[0]} …` : (lines[0] ?? '')
}

/** How many columns a text takes: wide characters and emoji two, marks none, our own colours none. */
export function widthOf(text: string): number {
  if (SIMPLE.test(text)) return text.length
  let width = 0
  for (const grapheme of graphemes(stripVTControlCharacters(text))) width += graphemeWidth(grapheme)
  return width
}

/** Latin letters, punctuation, arrows, boxes and our glyphs: one column each. Telling graphemes apart costs 10 ms at first use. */
const SIMPLE = /^[\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u21ff\u2500-\u25ff\u23f8\u2713\u2717]*$/

/** Fills up with spaces to a width. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Shortens plain text to a width; the cut is shown. */
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

/** Breaks plain text into lines of at most a width, at spaces where there are any; its own line breaks stay. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => wrapLine(line, Math.max(width, 8)))
}

function wrapLine(line: string, width: number): string[] {
  if (widthOf(line) <= width) return [line]
  const indent = /^\s*/.exec(line)?.[0] ?? ''
  const hanging = indent.length < width / 2 ? indent : ''
  const lines: string[] = []
  let current = indent
  let used = indent.length
  for (const word of line.slice(indent.length).split(/(?<= )/)) {
    const size = widthOf(word.trimEnd())
    if (used + size > width && current.trim()) {
      lines.push(current.trimEnd())
      current = hanging
      used = hanging.length
    }
    for (const piece of used + size > width ? broken(word, width - hanging.length) : [word]) {
      if (used + widthOf(piece.trimEnd()) > width) {
        // A wide indent gives way to what it indents.
        if (current.trim()) lines.push(current)
        current = hanging
        used = hanging.length
      }
      current += piece
      used += widthOf(piece)
    }
  }
  return [...lines, current.trimEnd()]
}

function broken(word: string, width: number): string[] {
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

/** East Asian wide and fullwidth blocks; emoji are found by their property. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]/u

function graphemeWidth(grapheme: string): number {
  if (/^[\p{Mark}\p{Default_Ignorable_Code_Point}]+$/u.test(grapheme)) return 0
  return WIDE.test(grapheme) || /^\p{Emoji_Presentation}|\ufe0f/u.test(grapheme) ? 2 : 1
}
