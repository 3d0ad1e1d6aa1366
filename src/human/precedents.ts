import { type Clock, systemClock } from '../base/clock.ts'
import type { Assessment } from '../domain/assessment.ts'
import type { Risk } from '../domain/session.ts'
import type { Answers, Store, Tx } from '../store/store.ts'
import { fingerprintOf, isBare, keptNormalised } from './fingerprint.ts'
import { isFresh, type MemorySettings, STANDARD_MEMORY } from './memory/settings.ts'

export interface Precedent {
  project: string
  tool: string
  normalised: string
  risk: Risk
  verdict: 'allow' | 'deny'
  by: string
  session?: string | undefined
}

export interface PrecedentAdvice {
  approve: boolean
  confidence: number
  reason: string
  /** Who answered, and on which day. */
  by: string
  day: string
}

export interface Precedents {
  /** Keeps an answer for the next time; false where nothing is kept. */
  remember(precedent: Precedent, tx?: Tx): Promise<boolean>
  /** What a person answered to the same request in the same project before. */
  find(project: string, tool: string, assessment: Assessment): Promise<PrecedentAdvice | undefined>
}

/**
 * Answers that count again. Only for MEDIUM: a LOW request needs none, and a HIGH one is a question every time, so it is
 * neither kept nor looked up, even if a row for the same words exists from a time when they were less dangerous. Nor is a
 * call of which the policy can tell only the tool: one call of a server's tool says nothing about the next.
 */
export function precedents(
  store: Pick<Store, 'answers'>,
  clock: Clock = systemClock,
  memory: MemorySettings = STANDARD_MEMORY,
): Precedents {
  return {
    async remember({ project, tool, normalised, risk, verdict, by, session }, tx) {
      if (risk !== 'MEDIUM' || isBare(tool, normalised)) return false
      const kept = keptNormalised(normalised)
      const of = { kind: 'permission', project, tool, normalised: kept, asked: kept } as const
      const said = { verdict, answer: null, by, answered_at: clock.now(), session_id: session ?? null, lasting: false }
      await store.answers.put({ ...of, ...said, fingerprint: fingerprintOf(tool, normalised) }, tx)
      return true
    },
    find: (project, tool, assessment) => {
      return findPrecedent(store.answers, { project, tool, assessment, memory, now: clock.now() })
    },
  }
}

interface Asked {
  project: string
  tool: string
  assessment: Assessment
  /** How far earlier answers are trusted, and the time by which they are old. */
  memory?: MemorySettings | undefined
  now?: number
}

/** The same for who only reads. */
export async function findPrecedent(
  answers: Pick<Answers, 'find'>,
  { project, tool, assessment: { risk, normalised }, memory = STANDARD_MEMORY, now = Date.now() }: Asked,
): Promise<PrecedentAdvice | undefined> {
  if (risk !== 'MEDIUM' || isBare(tool, normalised)) return undefined
  const answer = await answers.find(project, fingerprintOf(tool, normalised))
  if (!answer || !isFresh(answer, memory, now)) return undefined
  const { by, verdict, answered_at } = answer
  const approve = verdict === 'allow'
  const day = new Date(answered_at).toISOString().slice(0, 10)
  const said = `${by} ${approve ? 'allowed' : 'refused'} the same request on ${day}`
  return { approve, confidence: memory.confidence, reason: approve ? said : `${said}; go on without it`, by, day }
}
