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
