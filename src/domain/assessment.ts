import type { Risk } from './session.ts'

/** A stretch of the command: offsets into it, the end not included. */
export type Span = readonly [start: number, end: number]

/** One thing that was seen. The code is stable and machine-readable; the text is for a person and names the words. */
export interface Reason {
  code: string
  risk: Risk
  text: string
  /** Where in the command; absent for requests that are no command. */
  at?: Span
}

/** One part of a request with its own risk: a command, a substitution, what a wrapper runs. A tree for `pcc explain`. */
export interface Piece {
  text: string
  risk: Risk
  at?: Span
  /** The words of a command as its program sees them; `\0` stands for what is known only when it runs. */
  argv?: readonly string[]
  /** It is made of the words of the piece above, which runs it. */
  derived?: true
  /** The pieces below are joined by pipes. */
  piped?: true
  reasons: Reason[]
  pieces: Piece[]
}

/** What the policy found out about a request, before anybody decides. */
export interface Assessment {
  /** The highest of all reasons. */
  risk: Risk
  /** Highest first. */
  reasons: Reason[]
  pieces: Piece[]
  /** One spelling for requests that are the same, so that an answer given once can be found again. */
  normalised: string
}

const ORDER: Record<Risk, number> = { LOW: 0, MEDIUM: 1, HIGH: 2 }

/** Whether `risk` is higher than `other`. */
export function isHigherRisk(risk: Risk, other: Risk): boolean {
  return ORDER[risk] > ORDER[other]
}

/** The highest of the risks; nothing at all is LOW. */
export function highestRisk(risks: Iterable<Risk>): Risk {
  let worst: Risk = 'LOW'
  for (const risk of risks) if (isHigherRisk(risk, worst)) worst = risk
  return worst
}
