import type { Risk } from './session.ts'

/** A part of the command: offsets into it, the end not included. */
export type Span = readonly [start: number, end: number]

/** One observation. The code is stable and machine-readable; the text is for a person and quotes the command. */
export interface Reason {
  code: string
  risk: Risk
  text: string
  /** Where in the command; absent for requests that are not commands. */
  at?: Span
  /** Set if in a sandbox it reaches nothing but the project and what the agent itself runs: there nobody need be asked about it. */
  held?: true
  /** Set if the project itself shows that it is everyday also without a sandbox, as long as nothing else in the command takes part. */
  own?: true
  /**
   * What is at the place of a file that is written: `fresh` if there is nothing, or what git ignores, and no tool looks for its name; `kept` if its
   * text would be lost.
   */
  target?: 'fresh' | 'kept'
}

/** One part of a request with its own risk: a command, a substitution, the command of a wrapper. A tree for `pcc explain`. */
export interface Piece {
  text: string
  risk: Risk
  at?: Span
  /** The arguments as the program sees them; `\0` marks parts that are known only at run time. */
  argv?: readonly string[]
  /** Set if this piece consists of arguments of the piece above, which runs it. */
  derived?: true
  /** Set if the pieces below are joined by pipes. */
  piped?: true
  reasons: Reason[]
  pieces: Piece[]
}

/** The policy's assessment of a request, before anybody decides. */
export interface Assessment {
  /** The highest risk of all reasons. */
  risk: Risk
  /** Highest first. */
  reasons: Reason[]
  pieces: Piece[]
  /** One spelling for equal requests, so that an earlier answer can be found again. */
  normalised: string
  /** The files that were read, each with a hash. The assessment holds as long as they are the same. */
  files?: Readonly<Record<string, string>>
  /** A file that it runs was not read, because the request is HIGH without it. */
  hasUnread?: true
}

/** The code of the reason that a package by name is in no lock file of the project. */
export const UNLISTED = 'pkg.unlisted'
const UNLISTED_TEXT = ' is in no lock file'

export function describeUnlisted(name: string): string {
  return `${name}${UNLISTED_TEXT}`
}

/** The package that a reason says is in no lock file. */
export function findUnlisted({ code, text }: Pick<Reason, 'code' | 'text'>): string | undefined {
  return code === UNLISTED && text.endsWith(UNLISTED_TEXT) ? text.slice(0, -UNLISTED_TEXT.length) : undefined
}

const ORDER: Record<Risk, number> = { LOW: 0, MEDIUM: 1, HIGH: 2 }

/** Whether `risk` is higher than `other`. */
export function isHigherRisk(risk: Risk, other: Risk): boolean {
  return ORDER[risk] > ORDER[other]
}

/** The highest of the risks; LOW if there are none. */
export function highestRisk(risks: Iterable<Risk>): Risk {
  let worst: Risk = 'LOW'
  for (const risk of risks) if (isHigherRisk(risk, worst)) worst = risk
  return worst
}
